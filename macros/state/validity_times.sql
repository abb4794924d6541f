{#- The ends with their times: how early a window by time may start, how late it may end. A low end keeps
    its time until it is raised; before its instance is published, the transactions that tell it may still come. -#}
{% macro _with_times(rows, state, captured) %}
    {% set intervals = [] %}
    {% for row in rows %}
        {% set known = state.intervals.get(row.capture_instance | lower, {}) %}
        {% set is_captured = known.high_end or row.capture_instance | lower in captured %}
        {% do intervals.append(dict(
            row, low_time=known.low_time if known.high_end and known.low_end == row.low_end else none,
            high_end=row.high_end if is_captured else none,
            high_time=dbt_cdc._later_time(known.high_time, row.high_time) if is_captured else none
        )) %}
    {% endfor %}
    {% set raised = {} %}
    {% for interval in intervals if not interval.low_time %}
        {% do raised.setdefault(dbt_cdc._low_time_sql(interval), []).append(interval) %}
    {% endfor %}
    {% set times = dbt_cdc._fetch(dbt_cdc._low_times_sql(raised))[0] if raised %}
    {% for alike in raised.values() %}
        {% set low_time = times['time_' ~ loop.index0] %}
        {% for interval in alike %}{% do interval.update(low_time=low_time) %}{% endfor %}
    {% endfor %}
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


{#- The time of a low end is the last commit's before it, captured or not; of the log's start, the first transaction's
    begin. A window by time that begins there takes the low end in, so where that is a commit that emptied the table it
    is this one's own: no window may span it, and one that begins at NULL has the rest of it. Where changes are gone, a
    transaction that is left may have begun before them. -#}
{% macro _low_time_sql(interval) -%}
coalesce({{ dbt_cdc._last_time_sql(
    "if(commit_lsn " ~ ('<=' if interval.lost_lsn == interval.low_end else '<') ~ " '" ~ interval.low_end
    ~ "', commit_time, null)") }}, min_by({{ 'commit_time' if interval.lost_lsn else 'coalesce(begin_time, commit_time)'
    }}, commit_lsn) filter (where commit_time is not null), min(begin_time))
{%- endmacro %}


{% macro _low_times_sql(times) -%}
    select
        {%- for time in times %}
        cast({{ time }} as string) as time_{{ loop.index0 }}{{ ',' if not loop.last }}
        {%- endfor %}
    from (
        select commit_lsn, commit_time, begin_time
        from {{ dbt_cdc._state_relation('scan_transactions') }}
        union all
        select start_lsn, tran_end_time, tran_begin_time
        from {{ dbt_cdc._state_relation('lsn_time_mapping') }}
    )
{%- endmacro %}
