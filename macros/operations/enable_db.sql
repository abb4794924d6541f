{#- Run-operation (sys.sp_cdc_enable_db): makes the state tables, and the view that tells that CDC is enabled.
    A first `dbt run` does the same. -#}
{% macro enable_db(dry_run=false) %}
    {% if execute %}
        {% set dry_run = dbt_cdc._as_boolean('dry_run', dry_run) %}
        {% set schema = dbt_cdc._state_relation('change_tables').schema %}
        {% if dbt_cdc._has_state('change_tables') and dbt_cdc._has_state('is_cdc_enabled') %}
            {% do log(
                dbt_cdc._error_text(22905, 'schema ' ~ schema ~ ' is enabled for change data capture already',
                    'nothing is left to do'), info=true) %}
        {% else %}
            {% do dbt_cdc._check_names_are_free() %}
            {% if not dry_run %}
                {% do dbt_cdc._ensure_state_tables() %}
                {% do run_query(
                    'create or replace view ' ~ dbt_cdc._state_relation('is_cdc_enabled').incorporate(type='view')
                    ~ ' as ' ~ dbt_cdc._view_sql('is_cdc_enabled')) %}
            {% endif %}
            {% do log(
                'change data capture ' ~ ('would be' if dry_run else 'is') ~ ' enabled in schema ' ~ schema
                ~ '; a first dbt run does the same: what is captured are the models that cdc_capture_instances '
                ~ 'lists (dbt run-operation enable_table prints one)', info=true) %}
        {% endif %}
    {% endif %}
{% endmacro %}
