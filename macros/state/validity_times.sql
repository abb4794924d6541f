{#- The ends with their times: how early a window by time may start, how late it may end. A low end keeps
    its time until it is raised. -#}
{% macro _with_times(rows, state, captured) %}
    {% set intervals = [] %}
    {% for row in rows %}
        {% set known = state.intervals.get(row.capture_instance | lower, {}) %}
        {% set is_captured = known.high_end or row.capture_instance | lower in captured %}
        {% do intervals.append(dict(
            row, low_time=known.low_time if known.low_end == row.low_end else none,
            high_end=row.high_end if is_captured else none,
            high_time=dbt_cdc._later_time(known.high_time, row.high_time) if is_captured else none
        )) %}
    {% endfor %}
    {% set raised = intervals | rejectattr('low_time') | map(attribute='low_end') | unique | list %}
    {% if raised %}
        {% set times = dbt_cdc._fetch(dbt_cdc._low_times_sql(raised))[0] %}
        {% for interval in intervals if not interval.low_time %}
            {% do interval.update(low_time=times[interval.low_end | lower]) %}
        {% endfor %}
    {% endif %}
    {% for interval in intervals if interval.end_lsn and interval.high_end %}
        {% do dbt_cdc._freeze_high_end(interval, state) %}
    {% endfor %}
    {% do return(intervals) %}
{% endmacro %}


{#- The later of two times of high ends; of one that is still to come, as of a source whose clock was wrong, the
    other. -#}
{% macro _later_time(known, now) %}
    {% set tomorrow = modules.datetime.datetime.now(modules.pytz.utc) + modules.datetime.timedelta(days=1) %}
    {% set times = [known, now] | select | list %}
    {% set past = times | select('le', tomorrow.strftime('%Y-%m-%d %H:%M:%S')) | list %}
    {% do return((past or times) | max or none) %}
{% endmacro %}


{#- An instance that ended keeps the high end, and its time, that it had then. -#}
{% macro _freeze_high_end(interval, state) %}
    {% set known = state.intervals.get(interval.capture_instance | lower, {}) %}
    {% set high_end = [dbt_cdc.decrement_lsn(interval.end_lsn), interval.high_end or ''] | min or none %}
    {% if known.high_end == high_end %}
        {% set high_time = known.high_time %}
    {% elif high_end %}
        {% set high_time = dbt_cdc._fetch(
            'select cast(' ~ dbt_cdc._last_time_sql('tran_end_time') ~ ' as string) as time from '
            ~ dbt_cdc._state_relation('lsn_time_mapping') ~ " where start_lsn <= '" ~ high_end ~ "'"
        )[0].time %}
    {% endif %}
    {% do interval.update(high_end=high_end, high_time=high_time or known.high_time) %}
{% endmacro %}


{#- The time of a low end is the last commit's before it, captured or not; of the log's start, the
    first transaction's begin. -#}
{% macro _low_times_sql(low_ends) -%}
    select
        {%- for lsn in low_ends %}
        cast(coalesce(
            {{ dbt_cdc._last_time_sql("if(commit_lsn < '" ~ lsn ~ "', commit_time, null)") }},
            min(begin_time)
        ) as string) as `{{ lsn | lower }}`{{ ',' if not loop.last }}
        {%- endfor %}
    from (
        select commit_lsn, commit_time, begin_time
        from {{ dbt_cdc._state_relation('scan_transactions') }}
        union all
        select start_lsn, tran_end_time, tran_begin_time
        from {{ dbt_cdc._state_relation('lsn_time_mapping') }}
    )
{%- endmacro %}
