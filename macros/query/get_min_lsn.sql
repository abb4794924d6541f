{#- The low end of an instance's validity interval; all zeros for an unknown instance, as in
    SQL Server. A value at run time. -#}
{% macro get_min_lsn(capture_instance) %}
    {% do return(dbt_cdc._while_parsing(dbt_cdc._zero_lsn())) if not execute %}
    {% do return(dbt_cdc._zero_lsn()) if dbt_cdc._is_unit_test() %}
    {% set interval = dbt_cdc._published_state(
        dbt_cdc._mapping_to_read(capture_instance or '')).intervals.get((capture_instance or '') | lower) %}
    {% do return(interval.low_end if interval else dbt_cdc._zero_lsn()) %}
{% endmacro %}
