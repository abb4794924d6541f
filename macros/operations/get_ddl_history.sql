{#- Run-operation (sys.sp_cdc_get_ddl_history): prints the DDL of an instance's table since the instance
    was made, as far as the capture job has read it. -#}
{% macro get_ddl_history(capture_instance) %}
    {% if execute %}
        {% set instance = dbt_cdc._find_registered(capture_instance) %}
        {% do dbt_cdc._print_rows(dbt_cdc._fetch(
            'select ' ~ dbt_cdc._literal(instance.source_schema) ~ ' as source_schema, '
            ~ dbt_cdc._literal(instance.source_name) ~ ' as source_table, '
            ~ dbt_cdc._literal(instance.capture_instance) ~ ' as capture_instance, '
            ~ 'required_column_update, ddl_command, ddl_lsn, cast(ddl_time as string) as ddl_time from '
            ~ dbt_cdc._state_relation('ddl_history') ~ ' where object_id = ' ~ instance.object_id
            ~ ' order by ddl_lsn'
        )) %}
    {% endif %}
{% endmacro %}
