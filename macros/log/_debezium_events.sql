{#- The new events, their JSON parsed once. -#}
{% macro _debezium_landed(events, batch) -%}
    select
        position,
        topic,
        key,
        value,
        from_json(headers, 'map<string, string>') as headers,
        from_json(value, '{{ dbt_cdc._debezium_envelope() }}') as event
    from {{ events }}
    where
        value <> 'null'
        and not coalesce(startswith(topic, '__debezium-heartbeat'), false)
        {%- if batch.position is not none %}
        and position > {{ batch.position }}
        and position <= {{ batch.last_position }}
        {%- endif %}
{%- endmacro %}


{#- An event's JSON, with and without its schema. Texts, since Debezium writes numbers as either;
    a column's value keeps its text. -#}
{% macro _debezium_envelope() %}
    {% set payload -%}
        op: string, status: string, id: string, event_count: string, ts_ms: string, {# -#}
        source: struct<connector: string, `schema`: string, `table`: string, {# -#}
        snapshot: string, lsn: string, ts_us: string, ts_ms: string>, {# -#}
        transaction: struct<id: string, total_order: string>, {# -#}
        before: map<string, string>, after: map<string, string>
    {%- endset %}
    {% set column -%}
        struct<field: string, type: string, name: string, parameters: map<string, string>>
    {%- endset %}
    {% do return(
        'struct<' ~ payload ~ ', payload: struct<' ~ payload ~ '>, `schema`: struct<fields: '
        ~ 'array<struct<field: string, fields: array<' ~ column ~ '>>>>, _corrupt_record: string>'
    ) %}
{% endmacro %}


{#- CTE `events`: `kind` is BEGIN, END or Debezium's op, `wal` the position in PostgreSQL's log,
    `slot` the place in the transaction. -#}
{% macro _debezium_events(types, before_images) -%}
envelopes as (
    select
        position,
        topic,
        key,
        value,
        headers,
        event._corrupt_record as unreadable,
        {%- for name in ['op', 'status', 'id', 'event_count', 'ts_ms', 'source', 'transaction',
            'before', 'after'] %}
        coalesce(event.payload.{{ name }}, event.{{ name }}) as {{ name }},
        {%- endfor %}
        {{ dbt_cdc._debezium_columns(types) | indent(4) }} as columns
    from landed
),

decoded as (
    select
        *,
        {{ dbt_cdc._debezium_images() | indent(4) }} as images
    from envelopes
),

events as (
    select
        position,
        {{ dbt_cdc._debezium_kind() | indent(4) }} as kind,
        -- never null: Spark would test it before it parses, and parse twice
        case when op = 'r' then 'snapshot'
            else coalesce(split_part(coalesce(id, transaction.id), ':', 1), '') end as xid,
        cast(coalesce(source.lsn, split_part(id, ':', 2)) as bigint) as wal,
        cast(case
            when status = 'BEGIN' then 0
            when status = 'END' then {{ dbt_cdc._debezium_last_slot() }}
            when op = 'r' then position
            else transaction.total_order
        end as bigint) as slot,
        cast(event_count as bigint) as event_count,
        timestamp_micros(
            cast(coalesce(source.ts_us, concat(coalesce(source.ts_ms, ts_ms), '000')) as bigint)
        ) as record_time,
        source.schema as source_schema,
        source.table as source_name,
        coalesce(map_contains_key(headers, '__debezium.oldkey'), false) as has_old_key,
        coalesce(map_contains_key(headers, '__debezium.newkey'), false) as has_new_key,
        {{ dbt_cdc._debezium_before_image(before_images) | indent(4) }} as before,
        images[1] as after,
        case when op = 'r' then source.snapshot end as snapshot_mark,
        case when op = 'r' then md5(concat_ws(' ', topic, value)) end as snapshot_row
    from decoded
)
{%- endmacro %}


{#- What an event is, or an error that says what is wrong with it. -#}
{% macro _debezium_kind() -%}
    {%- set place = "concat_ws('', 'event at position ', position, ' of topic ', topic)" -%}
    case
        when unreadable is not null
            then {{ dbt_cdc._raise_bad_record(place, "'it is not readable JSON'") | indent(8) }}
        when status in ('BEGIN', 'END')
            then status
        when source.connector <> 'postgresql'
            then {{ dbt_cdc._raise_bad_record(
                place, "concat('it comes from the connector ', source.connector)",
                'debezium_log reads postgresql'
            ) | indent(8) }}
        when source.snapshot = 'incremental'
            then {{ dbt_cdc._raise_bad_record(
                place, "'it is a row of an incremental snapshot'",
                'only initial snapshots are supported: leave these events out of the relation'
            ) | indent(8) }}
        when op in ('c', 'u', 'd', 't') and transaction.total_order is null
            then {{ dbt_cdc._raise_bad_record(
                place, "'it does not tell its transaction'",
                'set provide.transaction.metadata=true in the connector'
            ) | indent(8) }}
        when op in ('c', 'u', 'd', 't', 'r', 'm')
            then op
        else {{ dbt_cdc._raise_bad_record(
            place, "'it is no Debezium change event'",
            'land the events as Debezium writes them, without ExtractNewRecordState'
        ) | indent(4) }}
    end
{%- endmacro %}


{#- The place of an END: behind all events of its transaction. -#}
{% macro _debezium_last_slot() %}
    {% do return(2 ** 63 - 1) %}
{% endmacro %}
