{#- What this run reads: the lines after `position` up to `last_position`; the next run reads on behind
    `resume_position`, which is before the first transaction whose C has not landed: `open_transaction`, with its B at
    `open_position` and the time `open_time`. `last_commit` is the commit number of the last transaction in the log (0:
    none yet). `has_repeats`: some transaction came more than once; `has_old_lines`: one at or below the log's end.
    `landed` counts the lines up to `resume_position`, `copies` those that are there twice, `places` those of this batch
    without copies; `low_position` is the lowest. Of a view nothing is known before it is read. -#}
{% macro _wal2json_batch(events, log, is_incremental) %}
    {% do dbt_cdc._check_session_settings() if execute and dbt_cdc._is_building() %}
    {% set batch = {
        'log': log, 'is_incremental': is_incremental, 'is_bounded': false, 'position': none, 'last_position': none,
        'resume_position': none, 'last_commit': 0, 'has_repeats': true, 'has_old_lines': false,
        'open_position': none, 'open_transaction': none, 'open_time': none, 'landed': 0, 'copies': 0,
        'places': 0, 'low_position': none,
    } %}
    {% if is_incremental or (execute and dbt_cdc._is_building() and config.get('materialized') != 'view') %}
        {% set log_end = dbt_cdc._fetch(dbt_cdc._wal2json_log_end(log))[0] if is_incremental else {} %}
        {% do batch.update(position=log_end.position, last_commit=log_end.last_lsn[2:16] | int(base=16))
            if log_end.last_lsn %}
        {% do batch.update(dbt_cdc._fetch(dbt_cdc._wal2json_news(events, batch))[0], is_bounded=true) %}
        {% set last_position = batch.last_position if batch.last_position is not none else batch.position %}
        {% do batch.update(
            last_position=last_position,
            resume_position=batch.open_position - 1 if batch.open_position is not none else last_position
        ) %}
        {% do dbt_cdc._wal2json_count_landed(events, batch, log_end) if last_position is not none %}
    {% endif %}
    {% do return(batch) %}
{% endmacro %}


{% macro _wal2json_log_end(log) -%}
select
    max(lsn) as last_lsn,
    max_by(resume_position, lsn) as position,
    max_by(cast(get_json_object(balance, '$.landed') as bigint), lsn) as landed,
    max_by(cast(get_json_object(balance, '$.copies') as bigint), lsn) as copies,
    max_by(cast(get_json_object(balance, '$.low_position') as bigint), lsn) as low_position
from {{ log }}
where operation = 'COMMIT'
{%- endmacro %}


{#- Only B and C have a nextlsn. -#}
{% macro _wal2json_news(events, batch) -%}
with landed as (
    select
        position,
        case when contains(value, '"nextlsn"')
            then from_json(value, 'action string, xid string, nextlsn string, timestamp string') end as event
    from {{ events }}
    {%- if batch.position is not none %}
    where position > {{ batch.position }}
    {%- endif %}
),

marks as (
    select
        position,
        event.action,
        event.xid,
        event.timestamp,
        {{ dbt_cdc._wal2json_lsn_number('event.nextlsn') }} as commit_number,
        case when event.action in ('B', 'C') then position end as mark_position
    from landed
),

transactions as (
    select
        xid,
        commit_number,
        min(case when action = 'B' then position end) as first_begin,
        max(case when action = 'B' then position end) as last_begin,
        max(mark_position) as last_mark,
        min(timestamp) as commit_time,
        count_if(action = 'B') as begins,
        count_if(action = 'C') as ends,
        max(position) as last_position
    from marks
    group by xid, commit_number
),

-- what is cut off comes again; the rest of what is last of all comes next
open_transactions as (
    select
        *,
        case
            when last_begin = max(last_mark) over () then last_begin
            when
                ends = 0 and commit_number > {{ batch.last_commit }} and not {{ dbt_cdc._is_given_up() }}
                then first_begin
        end as open_position
    from transactions
)

select
    max(last_position) as last_position,
    min(open_position) as open_position,
    min_by(concat_ws(':', xid, commit_number), open_position) as open_transaction,
    cast(try_cast(min_by(commit_time, open_position) as timestamp_ltz) as string) as open_time,
    coalesce(max(begins) > 1, false) as has_repeats,
    coalesce(min(commit_number) <= {{ batch.last_commit }}, false) as has_old_lines
from open_transactions
{%- endmacro %}


{#- The number of an LSN: of 'X/Y' X * 2^32 + Y; NULL of another text. -#}
{% macro _wal2json_lsn_number(text) -%}
case when {{ text }} rlike '^[0-9A-Fa-f]{1,6}/[0-9A-Fa-f]{1,8}\\z' then cast(conv(
        concat(split_part({{ text }}, '/', 1), lpad(split_part({{ text }}, '/', 2), 8, '0')), 16, 10
    ) as bigint) end
{%- endmacro %}


{#- Lines that landed at positions that the log had read beyond are never read, unless they are there twice: positions
    began anew, or a line landed late. -#}
{% macro _wal2json_count_landed(events, batch, log_end) %}
    {% set position = batch.position if batch.position is not none else -2 ** 63 %}
    {% set kept_position = log_end.get('low_position') %}
    {% set found = dbt_cdc._fetch(
        'select count_if(position <= ' ~ batch.resume_position ~ ') as landed, count_if(position <= ' ~ position
        ~ ') as landed_below, count(distinct case when position > ' ~ position ~ ' and position <= '
        ~ batch.resume_position ~ ' then position end) as places, min(position) as low_position, '
        ~ 'count_if(position < ' ~ (kept_position if kept_position is not none else -2 ** 63) ~ ') as below_kept, '
        ~ 'max(position) as end_position from ' ~ events)[0] %}
    {% do dbt_cdc._check_positions_go_on(events, batch.log, found.end_position, batch.position) %}
    {% set late, copies = found.landed_below - (log_end.landed or 0), log_end.copies or 0 %}
    {% set has_removed = kept_position is not none and found.low_position is not none
        and found.low_position > kept_position %}
    {% if batch.position is not none and has_removed %}
        {% set beside = dbt_cdc._late_beside_removed(
            events, batch.log, dict(found, read_position=position), 'position') %}
        {% set late, copies = beside.late, beside.copies %}
    {% elif batch.position is not none and late > 0 %}
        {% set copies = found.landed_below - dbt_cdc._fetch(
            'select count(distinct position, xxhash64(value)) as lines from ' ~ events ~ ' where position <= '
            ~ position)[0].lines %}
    {% endif %}
    {#- what lies below the lowest one that there was is late for certain -#}
    {% set late = found.below_kept or late %}
    {% if batch.position is not none
        and (found.below_kept or late > (0 if has_removed else copies - (log_end.copies or 0))) %}
        {% do dbt_cdc.raise_cdc_error(
            22859, late ~ ' lines landed at or below position ' ~ position ~ ' of ' ~ events
            ~ ', up to which the log had read them',
            dbt_cdc._positions_advice(batch.log)
        ) %}
    {% endif %}
    {% do batch.update(
        landed=found.landed, copies=copies, places=found.places, low_position=found.low_position) %}
{% endmacro %}
