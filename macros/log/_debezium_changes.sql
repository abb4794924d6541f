{#- CTE `owned`: every event with the transaction that owns it. `commit_number` is the WAL position of the END;
    transaction ids are used again, so the owner of an event is the first END of its xid after it, of a BEGIN also one
    at its place: a connector that restarted behind all changes sends them so. A snapshot is a transaction right behind
    its LSN. -#}
{% macro _debezium_owners(batch) -%}
{%- if batch.has_old_events -%}
{{ dbt_cdc._debezium_known_commits(batch) }},

{% endif -%}
owned as (
    select *
    from (
        select
            *,
            case
                when kind = 'r' then wal + 1
                {%- if batch.is_binlog %}
                else min(if(kind = 'END', wal, null)) over (partition by xid)
                {%- else %}
                else min(case when kind = 'END' then wal end) over (
                    partition by xid order by wal desc, kind in ('BEGIN', 'END')
                )
                {%- endif %}
            end as commit_number
        from {{ 'known_and_new_events' if batch.has_old_events else 'events' }}
    )
)
{%- endmacro %}


{#- An event that comes again may belong to a transaction that is in the log already. -#}
{% macro _debezium_known_commits(batch) -%}
known_and_new_events as (
    select * from events
    union all
    select
        {{ dbt_cdc._debezium_event(batch, {
            'kind': "'END'", 'xid': 'tran_id', 'wal': dbt_cdc._debezium_commit_number(),
            'slot': dbt_cdc._debezium_last_slot(),
        }) }}
    from {{ batch.log }}
    where
        operation = 'COMMIT'
        and lsn > '{{ dbt_cdc._debezium_lsn(batch.first_change) }}'
        and lsn <= '{{ dbt_cdc._debezium_lsn(batch.last_commit) }}'
)
{%- endmacro %}


{#- CTE `changes`: each event of an emitted transaction once, as delivery is at least once. If the connector restarted
    inside the transaction, it numbered the events from 1 again: their order is that of their WAL positions. A key
    change comes as a delete and a create, `is_old_half` and `is_new_half`, which PostgreSQL logs as one record, and
    which headers link in a binary log. -#}
{% macro _debezium_changes(batch) -%}
copies as (
    select /*+ broadcast(emitted_transactions) */
        events.*,
        emitted_transactions.* except (xid),
        row_number() over same_event as copy_number,
        is_restarted and not has_key and coalesce(lead(slot - 1) over same_event = slot, false) as may_be_two
    from events
    inner join emitted_transactions
        on
            events.xid = emitted_transactions.xid
            and wal between first_wal and last_wal
            and (kind = 'END') = (wal = commit_number)
    where kind <> 'BEGIN' and not is_later
    window same_event as (
        partition by
            events.xid, commit_number, snapshot_row, if(kind = 'r', null, if(is_restarted, wal, slot)),
            if(is_restarted, content, null)
        order by slot, position
    )
),

changes as (
    select
        *,
        {{ dbt_cdc._debezium_summary() | indent(8) }}
        count_if(kind <> 'm'{{ ' and position is not null' if batch.has_untold }}) over in_order as events
    from (
        select
            *,
            lag(before) over in_order as deleted_image,
            coalesce(lag(slot) over in_order, 0) as previous_slot,
            -- where the count goes on, it tells whether equal rows were one that was sent twice
            may_be_two and coalesce(lead(slot) over in_order = 1, false) as is_ambiguous,
            coalesce(
                kind = 'c'{{ ' and has_old_key' if batch.is_binlog }}
                and lag(struct(
                    kind, {{ 'has_new_key, ' if batch.is_binlog }}wal, source_schema, source_name, slot
                )) over in_order
                = struct('d', {{ 'true, ' if batch.is_binlog }}wal, source_schema, source_name, slot - 1),
                false
            ) as is_new_half,
            coalesce(
                kind = 'd'{{ ' and has_new_key' if batch.is_binlog }}
                and lead(struct(
                    kind, {{ 'has_old_key, ' if batch.is_binlog }}wal, source_schema, source_name, slot - 1
                )) over in_order
                = struct('c', {{ 'true, ' if batch.is_binlog }}wal, source_schema, source_name, slot),
                false
            ) as is_old_half,
            case when kind = 'r' or is_restarted then row_number() over in_order else slot end as ordinal
        from copies
        where copy_number = 1
        window in_order as (partition by xid, commit_number order by if(is_restarted, wal, 0), slot)
    )
    window in_order as (partition by xid, commit_number order by if(is_restarted, wal, 0), slot)
)
{%- endmacro %}


{#- What the COMMIT tells of the transaction's changes; its row is the last. A snapshot's is that of the last row. -#}
{% macro _debezium_summary() -%}
lead(slot) over in_order is null as is_last,
-- one set: what it costs is to copy it for each row
collect_set(case when kind in ('c', 'u', 'd', 'r', 't', 'ddl') then named_struct(
    'kind', if(kind = 'r', 'c', kind), 'source_schema', source_schema, 'source_name', source_name,
    'slot', if(kind in ('t', 'ddl'), slot, null), 'record_time', if(kind in ('t', 'ddl'), record_time, null)
) end) over in_order as touched,
count_if(kind in ('c', 'u', 'd', 'r', 't', 'ddl')) over in_order
- count_if(is_new_half) over in_order as logged_changes,
{%- endmacro %}


{#- Whether an event follows the one before it: counts begin at 1 and have no holes, and the last one ends with what its
    END says: 0 where the connector restarted behind the last event. -#}
{% macro _debezium_is_in_place() -%}
case kind
    when 'r' then true
    when 'END' then last_count = 0 or previous_slot in (first_count, last_count)
    else slot in (1, previous_slot + 1)
end
{%- endmacro %}


{% macro _debezium_raise_ambiguous() -%}
{{ dbt_cdc._raise_bad_record(
    "concat('transaction ', xid, ':', commit_number)",
    "concat('events number ', slot, ' and ', slot + 1, ' are equal rows of ', source_schema, '.', source_name, "
    ~ "', which has no key; the connector restarted behind them, and may have sent one row twice')",
    dbt_cdc._give_up_advice('land the missing events')
) }}
{%- endmacro %}


{#- A row has all its values when it is inserted: what lacks some is half of a changed key. -#}
{% macro _debezium_raise_lacks_values() -%}
{{ dbt_cdc._raise_bad_record(
    "concat('transaction ', xid, ':', commit_number)",
    "concat('event number ', slot, ' creates a row of ', source_schema, '.', source_name, ' without a large value that "
    ~ "the source has (position ', position, '): it is half of a changed key, and the delete before it is missing')",
    dbt_cdc._give_up_advice('land the missing events')
) }}
{%- endmacro %}


{% macro _debezium_raise_not_in_place() -%}
{{ dbt_cdc._raise_bad_record(
    "concat('transaction ', xid, ':', commit_number)",
    "concat(if(kind = 'END', concat('its END counts ', last_count, ' events, and'), concat('event number ', slot)), '"
    ~ " follows number ', previous_slot, ' (position ', position, '): events are missing, or the connector restarted"
    ~ " inside the transaction and the order of its events cannot be told')",
    dbt_cdc._give_up_advice('land the missing events')
) }}
{%- endmacro %}
