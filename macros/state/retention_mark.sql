{#- Not the clock counts but the last commit time: where capture stalls, nothing more goes. -#}
{% macro _retention_mark_sql(state, retention) -%}
    select min(start_lsn) as lsn
    from {{ dbt_cdc._state_relation('lsn_time_mapping') }}
    where
        start_lsn <= '{{ state.high_end }}'
        and tran_end_time
        >= {{ dbt_cdc._time_literal(state.intervals.values() | map(attribute='high_time') | select | max) }}
        - interval '{{ retention }}' minute
{%- endmacro %}
