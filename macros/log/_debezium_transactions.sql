{#- CTE `emitted_transactions`: those that are whole, as all before them are. Their events are those of `xid` from
    `first_wal` up to `last_wal`. A connector sends one transaction after the other, in the order of their commits: one
    whose END has not landed may be before all those whose END landed after its events. -#}
{% macro _debezium_transactions(batch) -%}
{%- set snapshot_commit = dbt_cdc._debezium_snapshot_commit() -%}
slots as (
    -- a number of two contents: the connector restarted inside the transaction, and numbered its events anew
    select
        xid,
        commit_number,
        slot,
        count(*) as copies,
        min(content) <> max(content) as has_other_content,
        max(event_count) as event_count,
        max(case when kind not in ('BEGIN', 'END') then slot end) as change_slot,
        min(case when kind = 'BEGIN' then record_time end) as begin_time,
        max(case when kind not in ('BEGIN', 'END') then record_time end) as change_time,
        max(case when kind = 'END' then record_time end) as end_time,
        bool_or(snapshot_mark = 'last') as is_last_row,
        min(wal) as first_wal,
        max(wal) as last_wal,
        min(position) as first_position,
        max(position) as last_position,
        min(case when kind = 'END' then position end) as end_position
    from owned
    {%- if dbt_cdc._given_up() %}
    where
        xid not in ({{ dbt_cdc._literals(dbt_cdc._given_up()) }})
        and concat_ws(':', xid, commit_number) not in ({{ dbt_cdc._literals(dbt_cdc._given_up()) }})
    {%- endif %}
    group by xid, commit_number, slot
),

transactions as (
    select
        xid,
        commit_number,
        max(event_count) as event_count,
        count(change_slot) as landed_events,
        coalesce(bool_or(has_other_content), false) as is_restarted,
        case when xid <> 'snapshot' then greatest(
            max(change_slot), case when bool_or(has_other_content) then sum(copies) end
        ) end as last_ordinal,
        min(begin_time) as begin_time,
        coalesce(min_by(change_time, case when is_last_row then slot end), max(change_time)) as change_time,
        max(end_time) as end_time,
        bool_or(is_last_row) as has_last_row,
        -- of several attempts at the snapshot counts the first complete one, else the last
        case when xid = 'snapshot' then coalesce(
            min_by(first_wal, case when is_last_row then slot end), max_by(first_wal, slot)
        ) end as snapshot_wal,
        min(first_wal) as first_wal,
        coalesce(commit_number, max(last_wal)) as place,
        min(first_position) as first_position,
        max(last_position) as last_position,
        min(end_position) as end_position
    from slots
    group by xid, commit_number
),

queue as (
    select
        *,
        case
            when commit_number = {{ snapshot_commit }}
                then coalesce(has_last_row, false) or max(xid not in ('snapshot', '')) over ()
            else commit_number is not null and landed_events >= event_count
        end as is_complete,
        coalesce(
            min(case when commit_number is null and xid <> '' then first_position end) over (order by place)
            < end_position, false
        ) as has_open_before,
        coalesce(
            lag(commit_number) over (order by commit_number nulls last),
            {%- if batch.last_commit %}
            {{ batch.last_commit }}
            {%- else %}
            if(commit_number = {{ snapshot_commit }}, 0, {{ snapshot_commit }})
            {%- endif %}
        ) as previous_commit
    from transactions
),

decided as (
    select
        *,
        bool_and(is_complete and not has_open_before) over (
            order by commit_number nulls last rows between unbounded preceding and current row
        ) as is_emitted
    from queue
),

emitted_transactions as (
    select
        xid,
        commit_number,
        is_restarted,
        {{ dbt_cdc._debezium_check_room() | indent(4) }} as previous_commit,
        coalesce(begin_time, change_time, end_time) as begin_time,
        coalesce(change_time, end_time) as commit_time,
        coalesce(snapshot_wal, first_wal) as first_wal,
        coalesce(snapshot_wal, commit_number) as last_wal,
        resume_position
    from (
        select
            *,
            -- the next run starts before the first event that this one leaves out
            coalesce(
                min(case when not is_emitted and xid <> '' then first_position end) over () - 1,
                {{ 'max(last_position) over ()' if batch.last_position is none
                    else batch.last_position }}
            ) as resume_position
        from decided
    )
    where is_emitted
)
{%- endmacro %}


{#- Events are numbered between two commits; a transaction has to fit there. -#}
{% macro _debezium_check_room() -%}
    case
        when (1 + last_ordinal) div {{ 2 ** 24 }} >= commit_number - previous_commit
            then {{ dbt_cdc._raise_bad_record(
                "concat('transaction ', xid)",
                "concat('it has ', landed_events, ' events, more than there is room for before its'"
                ~ ", ' commit at ', commit_number)",
                'split the transaction or leave its events out of the relation'
            ) }}
        else previous_commit
    end
{%- endmacro %}
