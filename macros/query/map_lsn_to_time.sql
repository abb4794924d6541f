{#- The commit time of the published transaction with this commit LSN, as text (UTC); none for any other
    LSN and for NULL. A value at run time. -#}
{% macro map_lsn_to_time(lsn) %}
    {% do return(dbt_cdc._while_parsing(none)) if not execute %}
    {% do return(none) if lsn is none %}
    {% set lsn = dbt_cdc._normalize_lsn(lsn, 'map_lsn_to_time: lsn') %}
    {% set mapping = dbt_cdc._mapping_to_read() %}
    {% do return(none) if lsn > (dbt_cdc._published_state(mapping).high_end or '') %}
    {% set found = dbt_cdc._fetch(
        'select cast(max(tran_end_time) as string) as time, ' ~ dbt_cdc._session_time_zone() ~ ' as time_zone from '
        ~ mapping ~ " where start_lsn = '" ~ lsn ~ "'"
    )[0] %}
    {% do dbt_cdc._check_time_zone(found.time_zone) %}
    {% do return(found.time) %}
{% endmacro %}
