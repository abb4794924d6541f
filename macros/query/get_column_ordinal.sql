{#- The ordinal of a captured column in update masks, from 1; none for an unknown column or instance, as
    in SQL Server. A value at run time. -#}
{% macro get_column_ordinal(capture_instance, column_name) %}
    {% do return(1) if not execute %}
    {% set is_known = (capture_instance or '') | string | lower in dbt_cdc._capture_instances() %}
    {% do return(dbt_cdc._find_ordinal(
        dbt_cdc._instance_of_masks(capture_instance).columns, column_name) if is_known else none) %}
{% endmacro %}
