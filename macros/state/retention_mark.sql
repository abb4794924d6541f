{#- Not the clock counts but the last commit time: where capture stalls, nothing more goes. A commit of a day that is
    still to come, as of a source whose clock was wrong, does not count. -#}
{% macro _retention_mark_sql(state, retention) -%}
    {%- set mapping = dbt_cdc._state_relation('lsn_time_mapping') -%}
    {%- set high_time = state.intervals.values() | map(attribute='high_time') | select | max -%}
    {%- set past = none if dbt_cdc._has_come(high_time) else 'tran_end_time <= ' ~ dbt_cdc._end_of_today() -%}
    select min(start_lsn) as lsn
    from {{ mapping }}
    where
        start_lsn <= '{{ state.high_end }}'
        {%- if past %}
        and {{ past }}
        {%- endif %}
        and tran_end_time
        >= {{ '(select max(tran_end_time) from ' ~ mapping ~ ' where ' ~ past ~ ')' if past
            else dbt_cdc._time_literal(high_time) }}
        - interval '{{ retention }}' minute
{%- endmacro %}


{#- Clocks may differ by a day. -#}
{% macro _end_of_today() %}
    {% do return("current_timestamp() + interval '1' day") %}
{% endmacro %}


{% macro _has_come(time) %}
    {% set tomorrow = modules.datetime.datetime.now(modules.pytz.utc) + modules.datetime.timedelta(days=1) %}
    {% do return((time or '') <= tomorrow.strftime('%Y-%m-%d %H:%M:%S')) %}
{% endmacro %}
