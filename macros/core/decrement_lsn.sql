{#- The LSN before `lsn`. NULL gives NULL; below the first one is an error. -#}
{% macro decrement_lsn(lsn) %}
    {% do return(dbt_cdc._shift_lsn(lsn, -1, 'decrement_lsn')) %}
{% endmacro %}
