{#- Run-operation (sys.sp_flush_CT_internal_table_on_demand): cleans the side table of one tracked
    table. -#}
{% macro flush_ct_internal_table_on_demand(table, dry_run=false) %}
    {% if execute %}
        {% set dry_run = dbt_cdc._as_boolean('dry_run', dry_run) %}
        {% do dbt_cdc._check_enabled() %}
        {% do dbt_cdc._ensure_state_tables('tracking') if dbt_cdc._has_state('syscommittab') %}
        {% set name = dbt_cdc._find_tracked_table(table).name %}
        {% set plan = dbt_cdc._planned_cleanup(dbt_cdc._tracking_settings()) %}
        {% set tables = plan.tables | selectattr('name', 'equalto', name) | list %}
        {% do dbt_cdc.raise_cdc_error(
            22105, 'nothing is published yet of the changes of table ' ~ table, 'run dbt first'
        ) if not tables %}
        {% do log('Cleanup Watermark = ' ~ tables[0].mark, info=true) %}
        {% do log('Internal Change Tracking table name : ' ~ name, info=true) %}
        {% if dry_run %}
            {% do dbt_cdc._print_rows(dbt_cdc._removable_versions(dict(plan, tables=tables))[:1]) %}
        {% else %}
            {% do dbt_cdc._raise_min_valid_versions(dict(plan, tables=tables)) %}
            {% do dbt_cdc._clean_side_tables(tables, plan.version, is_job=false) %}
            {% do dbt_cdc.raise_cdc_error(
                22123, 'cleanup of ' ~ name ~ ' failed',
                'another write may have overtaken it: run it again; no query reads its rows any more'
            ) if tables[0].removed_rows == 'failed' %}
            {% do log('Total rows deleted: ' ~ (tables[0].removed_rows or 0) ~ '.', info=true) %}
        {% endif %}
    {% endif %}
{% endmacro %}
