{#- The id of a tracked table's column, its place among the columns; none where there is none such.
    A value. -#}
{% macro change_tracking_column_id(table, column_name) %}
    {% do return(1) if not execute %}
    {% do return(dbt_cdc._find_ordinal(
        dbt_cdc._find_tracked_table(table).all_columns, column_name)) %}
{% endmacro %}
