{#- The high end of all validity intervals: the last published LSN; none before the first, and all zeros
    where the model is only looked at (compile, docs, --empty, unit tests). A value at run time. -#}
{% macro get_max_lsn() %}
    {% do return(dbt_cdc._while_parsing(dbt_cdc._zero_lsn())) if not execute %}
    {% do return(dbt_cdc._zero_lsn()) if dbt_cdc._is_unit_test() %}
    {% set high_end = dbt_cdc._published_state(dbt_cdc._mapping_to_read()).high_end %}
    {% do return(high_end if high_end or dbt_cdc._is_asked() else dbt_cdc._zero_lsn()) %}
{% endmacro %}
