{#- `has_old_ends`: whether there are ENDs at or below the log's end, of a binary log changes; `old_xids`: where there
    are none, the transactions of other events that may be old. -#}
{% macro _debezium_news(events, batch) -%}
with log_end as (
    select
        max(lsn) as last_lsn,
        max(source_database) as database,
        max(cast(get_json_object(balance, '$.read_position') as bigint)) as read_position,
        max(cast(get_json_object(balance, '$.landed_below') as bigint)) as landed_below,
        max(cast(get_json_object(balance, '$.copies_below') as bigint)) as copies_below,
        max(cast(get_json_object(balance, '$.low_position') as bigint)) as kept_position
    from {{ batch.log }}
    where resume_position = {{ batch.position }}
),

passed as (
    select
        max(log_end.read_position) as read_position,
        count_if(events.position <= log_end.read_position) - max(log_end.landed_below) as landed_since,
        count_if(events.position <= {{ batch.position }}) as landed_below,
        max(log_end.copies_below) as copies_below,
        min(events.position) as low_position,
        min(events.position) > max(log_end.kept_position) as has_removed,
        count_if(events.position < log_end.kept_position) as below_kept,
        max(events.position) as end_position
    from {{ events }} as events
    cross join log_end
),

landed as (
    select
        position,
        from_json(value, '{{ dbt_cdc._debezium_news_envelope(batch) }}') as event
    from {{ events }}
    where position > {{ batch.position }}
),

news as (
    select
        position,
        {%- for name in ['op', 'status', 'id'] %}
        coalesce(event.{{ name }}, event.payload.{{ name }}) as {{ name }},
        {%- endfor %}
        coalesce(event.source, event.payload.source) as source,
        coalesce(event.transaction.id, event.payload.transaction.id, event.id, event.payload.id) as transaction_id,
        {%- if batch.is_binlog %}
        coalesce(event.event_count, event.payload.event_count) as event_count,
        coalesce(event.ddl, event.payload.ddl) as ddl,
        {%- endif %}
        last_lsn,
        database,
        {{ dbt_cdc._debezium_commit_number('last_lsn') }} as last_commit
    from landed
    cross join log_end
),

placed as (
    select
        *,
        {%- if batch.is_binlog %}
        {{ dbt_cdc._debezium_binlog_place() }} as wal,
        {{ dbt_cdc._debezium_binlog_xid("op = 't' or ddl is not null", 'transaction_id') }} as xid,
        op in ('c', 'u', 'd', 't') or ddl is not null as is_change,
        if(op in ('c', 'u', 'd', 't'), timestamp_millis(cast(source.ts_ms as bigint)), null) as sent_for
        {%- elif batch.is_sqlserver %}
        {{ dbt_cdc._debezium_wal(batch, 'id') }} as wal
        {%- else %}
        try_cast(coalesce(source.lsn, split_part(id, ':', 2)) as bigint) as wal,
        split_part(coalesce(transaction_id, source.txId), ':', 1) as xid,
        op in ('c', 'u', 'd', 't') and transaction_id is null as is_untold,
        cast(get_json_object(source.sequence, '$[0]') as bigint) as previous_end
        {%- endif %}
    from news
)

select
    max(position) as last_position,
    max(last_lsn) as last_lsn,
    coalesce(max(database), min({{ dbt_cdc._debezium_database(batch) }})) as database,
    {{ '0L' if batch.is_binlog else 'min(wal)' }} as first_change,
    bool_or(op = 'r') as has_snapshot_rows,
    max(case when op = 'r' then wal end) as last_snapshot_wal,
    {%- if batch.is_binlog %}
    cast(min(sent_for) as string) as first_time,
    bool_or(is_change and wal <= last_commit) as has_old_ends,
    -- an END that comes again alone
    if(has_old_ends, '[]', to_json(array_except(
        collect_set(case when status = 'END' and event_count <> '0' then xid end),
        collect_set(case when is_change and wal > last_commit then xid end)
    ))) as old_xids,
    {%- elif batch.is_sqlserver %}
    bool_or((op in ('c', 'u', 'd') or status = 'END') and wal <= last_lsn) as has_old_ends,
    '[]' as old_xids,
    {%- else %}
    coalesce(bool_or(is_untold), false) as has_untold,
    bool_or(
        status = 'END' and wal <= last_commit or is_untold and coalesce(previous_end, wal - 1) < last_commit
    ) as has_old_ends,
    if(has_old_ends, '[]', to_json(
        collect_set(case when not status <=> 'END' and wal <= last_commit then xid end)
    )) as old_xids,
    {%- endif %}
    (select landed_below from passed) as landed_below,
    coalesce((select copies_below from passed), 0) as copies_below,
    coalesce((select landed_since from passed), 0) as landed_since,
    (select low_position from passed) as low_position,
    coalesce((select has_removed from passed), false) as has_removed,
    coalesce((select below_kept from passed), 0) as below_kept,
    (select read_position from passed) as read_position,
    (select end_position from passed) as end_position
from placed
{%- endmacro %}


{% macro _debezium_news_envelope(batch) -%}
    {%- set fields = 'id: string, op: string, status: string, transaction: struct<id: string>, '
        ~ 'source: struct<name: string, db: string, lsn: string, txId: string, sequence: string'
        ~ (', file: string, pos: string, gtid: string, ts_ms: string>, event_count: string, ddl: string'
            if batch.is_binlog else ', commit_lsn: string>') -%}
struct<{{ fields }}, payload: struct<{{ fields }}>>
{%- endmacro %}


{#- The connector and the database of an event, as one text; of a binary log, its name. -#}
{% macro _debezium_database(batch) -%}
{%- if batch.is_binlog -%}
nullif(concat_ws(' of ', regexp_extract(source.file, '^(.*)[.]', 1), source.name), '')
{%- else -%}
nullif(concat_ws('.', source.name, source.db), '')
{%- endif -%}
{%- endmacro %}
