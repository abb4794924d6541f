{#- The ordinal of a captured column in update masks, from 1; none for an unknown column or instance, as
    in SQL Server. A value at run time. -#}
{% macro get_column_ordinal(capture_instance, column_name) %}
    {% do return(1) if not execute %}
    {% set instance = dbt_cdc._capture_instances().get((capture_instance or '') | string | lower) %}
    {% do dbt_cdc._check_as_entered(instance) if instance %}
    {% do return(dbt_cdc._find_ordinal(instance.columns, column_name) if instance else none) %}
{% endmacro %}
