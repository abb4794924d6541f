{#- CTE `owned`: every event with the transaction that owns it. `commit_number` is the WAL position of the END;
    transaction ids are used again, so the owner of an event is the first END of its xid after it. -#}
{% macro _debezium_owners(batch) -%}
{%- set has_known = batch.first_change is not none and batch.first_change < batch.last_commit -%}
{%- if has_known -%}
{{ dbt_cdc._debezium_known_commits(batch) }},

{% endif -%}
owned as (
    select *
    from (
        select
            *,
            case
                when kind = 'r' then {{ dbt_cdc._debezium_snapshot_commit() }}
                else min(case when kind = 'END' then wal end) over (
                    partition by xid order by wal desc, kind = 'END'
                )
            end as commit_number
        from {{ 'known_and_new_events' if has_known else 'events' }}
    )
    where coalesce(commit_number > {{ batch.last_commit }}, true)
)
{%- endmacro %}


{#- An event that comes again may belong to a transaction that is in the log already. -#}
{% macro _debezium_known_commits(batch) -%}
known_and_new_events as (
    select * from events
    union all
    select
        null as position,
        'END' as kind,
        tran_id as xid,
        cast(conv(substr(lsn, 3, 14), 16, 10) as bigint) as wal,
        {{ dbt_cdc._debezium_last_slot() }} as slot,
        {%- for name in ['event_count', 'record_time', 'source_schema', 'source_name'] %}
        null as {{ name }},
        {%- endfor %}
        false as has_old_key,
        false as has_new_key,
        {%- for name in ['before', 'after', 'encodings', 'snapshot_mark', 'snapshot_row'] %}
        null as {{ name }}{{ ',' if not loop.last }}
        {%- endfor %}
    from {{ batch.log }}
    where
        operation = 'COMMIT'
        and lsn > '{{ dbt_cdc._debezium_lsn(batch.first_change) }}'
        and lsn <= '{{ dbt_cdc._debezium_lsn(batch.last_commit) }}'
)
{%- endmacro %}


{#- CTE `changes`: each event of an emitted transaction once, as delivery is at least once. A key change comes as a
    delete and a create, linked by headers: `is_new_half` and `is_old_half`. -#}
{% macro _debezium_changes() -%}
copies as (
    select /*+ broadcast(emitted_transactions) */
        events.*,
        emitted_transactions.* except (xid),
        -- a row of a snapshot comes again with the same text, any other event with the same place
        row_number() over (
            partition by events.xid, commit_number, snapshot_row, if(kind = 'r', null, slot) order by position
        ) as copy_number
    from events
    inner join emitted_transactions
        on
            events.xid = emitted_transactions.xid
            and wal between first_wal and last_wal
            and (kind = 'END') = (wal = commit_number)
),

changes as (
    select
        *,
        lag(before) over in_order as deleted_image,
        coalesce(
            kind = 'c' and has_old_key
            and lag(struct(kind, has_new_key, wal, source_schema, source_name, slot)) over in_order
            = struct('d', true, wal, source_schema, source_name, slot - 1),
            false
        ) as is_new_half,
        coalesce(
            kind = 'd' and has_new_key
            and lead(struct(kind, has_old_key, wal, source_schema, source_name, slot - 1)) over in_order
            = struct('c', true, wal, source_schema, source_name, slot),
            false
        ) as is_old_half,
        case when kind = 'r' then row_number() over in_order else slot end as ordinal
    from copies
    where copy_number = 1
    window in_order as (partition by xid, commit_number order by slot)
)
{%- endmacro %}
