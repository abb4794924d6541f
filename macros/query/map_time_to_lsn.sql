{#- The LSN of the published transaction that ended at the time which the operator asks for; none where
    there is none, and zeros where the model is only looked at before the first run. Of several at one time,
    smallest... gives the first, largest... the last. A value at run time. -#}
{% macro map_time_to_lsn(relational_operator, time) %}
    {% do return(dbt_cdc._while_parsing(dbt_cdc._zero_lsn())) if not execute %}
    {% set operator = (relational_operator or '') | string | trim | lower %}
    {% set comparison = dbt_cdc._time_operators().get(operator) %}
    {% do dbt_cdc.raise_cdc_error(
        313, "map_time_to_lsn: relational_operator '" ~ (relational_operator or 'NULL')
        ~ "' is unknown", "give '" ~ dbt_cdc._time_operators() | join("' or '") ~ "'"
    ) if not comparison %}
    {% set time = dbt_cdc._normalize_time(time, 'map_time_to_lsn: time') %}
    {% set mapping = dbt_cdc._mapping_to_read() %}
    {% set high_end = dbt_cdc._published_state(mapping).high_end %}
    {% do return(dbt_cdc._zero_lsn()) if not high_end and not dbt_cdc._is_asked() %}
    {% do return(none) if not high_end or time is none %}
    {% do return(dbt_cdc._fetch(
        'select ' ~ ('max' if operator.startswith('largest') else 'min')
        ~ '(struct(tran_end_time, start_lsn)).start_lsn as lsn from '
        ~ mapping ~ ' where tran_end_time ' ~ comparison ~ ' '
        ~ dbt_cdc._time_literal(time) ~ " and start_lsn <= '" ~ high_end ~ "'"
    )[0].lsn) %}
{% endmacro %}


{% macro _time_operators() %}
    {% do return({
        'largest less than': '<',
        'largest less than or equal': '<=',
        'smallest greater than': '>',
        'smallest greater than or equal': '>=',
    }) %}
{% endmacro %}
