{#- The id of a tracked table's column, its place among the columns; none where there is none such.
    A value. -#}
{% macro change_tracking_column_id(table, column_name) %}
    {% do return(1) if not execute %}
    {% set tracked = dbt_cdc._find_tracked_table(table) %}
    {% do dbt_cdc._check_tracked_as_entered(tracked) if dbt_cdc._is_asked() %}
    {% do return(dbt_cdc._find_ordinal(tracked.all_columns, column_name)) %}
{% endmacro %}
