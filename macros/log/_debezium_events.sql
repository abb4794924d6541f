{#- CTE `envelopes`: the new events as Debezium wrote them, with a schema or without. -#}
{% macro _debezium_envelopes(events, batch, before_images) -%}
landed as (
    select
        *,
        from_json(value, '{{ dbt_cdc._debezium_envelope(batch) }}') as event
    from {{ events }}
    {%- if batch.position is not none %}
    where position > {{ batch.position }} and position <= {{ batch.last_position }} or position is null
    {%- endif %}
),

envelopes as (
    select
        position,
        topic,
        nullif(key, '') as key,
        value,
        headers,
        event._corrupt_record as unreadable,
        event.schema.fields as value_schema,
        {%- if batch.is_binlog %}
        {{ dbt_cdc._debezium_is_truncate() | indent(8) }} as is_truncate,
        {%- endif %}
        {%- for name in dbt_cdc._debezium_payload(batch) %}
        {%- set told = 'coalesce(event.payload.' ~ name ~ ', event.' ~ name ~ ')' %}
        {%- set of_truncate = {'op': "'t'", 'ddl': 'null', 'tableChanges': 'null'}.get(name) %}
        {{ 'if(is_truncate, ' ~ of_truncate ~ ', ' ~ told ~ ')'
            if of_truncate and batch.is_binlog else told }} as {{ name }},
        {%- endfor %}
        {{ dbt_cdc._debezium_before_image(before_images) | indent(8) }} as known_before,
        concat_ws(' ', known_before, after) as images,
        {%- set placeholder = dbt_cdc._debezium_placeholder(batch) %}
        {{ dbt_cdc._debezium_has_unavailable(placeholder) }} as has_unavailable,
        {{ dbt_cdc._debezium_unavailable(placeholder) }} as unavailable
    from landed
)
{%- endmacro %}


{#- CTE `events`: the new events. `kind` is BEGIN, END or Debezium's op, `wal` the position in PostgreSQL's log,
    `slot` the number in the transaction,
    `content` tells events of one number apart. Two steps read it, the transactions and their changes: a condition that
    is not the same each time, and always true, has Spark make it once, shuffled as both want it: so long as they take
    all of its columns (docs/decisions/0013). -#}
{% macro _debezium_events(events, batch, before_images) -%}
{{ dbt_cdc._debezium_envelopes(events, batch, before_images) }},

{{ 'landed_events' if batch.has_untold or batch.is_sqlserver else 'events' }} as (
    select
        position,
        {{ dbt_cdc._debezium_kind(events, batch) | indent(8) }} as kind,
        -- never null: Spark would test it before it parses, and parse twice
        case when op = 'r' then 'snapshot'
            {{- ' when tableChanges is not null then \'\'' if batch.is_sqlserver }}
            else coalesce(
            {%- if batch.is_binlog %}
            {{- dbt_cdc._debezium_binlog_xid("op = 't' or ddl is not null", 'id, transaction.id') }}
            {%- elif batch.is_sqlserver %}{{ dbt_cdc._debezium_wal(batch, 'id') }}
            {%- else %}split_part(coalesce(id, transaction.id), ':', 1)
            {%- endif %},
            {{- ' source.txId,' if batch.has_untold and not batch.is_binlog }} '') end as xid,
        coalesce({{ dbt_cdc._debezium_wal(batch, 'id' if batch.is_sqlserver else "split_part(id, ':', 2)") }}, {{
            "''" if batch.is_sqlserver else '0' }}) as wal,
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
        coalesce(source.schema, source.db) as source_schema,
        source.table as source_name,
        coalesce(key, 'null') <> 'null' as has_key,
        {%- if batch.is_binlog %}
        coalesce(contains(headers, '"__debezium.oldkey"'), false) as has_old_key,
        coalesce(contains(headers, '"__debezium.newkey"'), false) as has_new_key,
        {%- elif not batch.is_sqlserver %}
        coalesce(op = 'c' and has_unavailable and {{ dbt_cdc._debezium_image('after') | indent(8) }} <> after, false)
            as lacks_values,
        {%- endif %}
        {{ dbt_cdc._debezium_image('known_before') | indent(8) }} as before,
        {{ dbt_cdc._debezium_image('after') | indent(8) }} as after,
        {{ dbt_cdc._debezium_encodings() | indent(8) }} as encodings,
        case when op = 'r' then source.snapshot end as snapshot_mark,
        {#- What its copies share: their text. Without a key and a time in microseconds two rows may have the same
            text: then only the same position makes a copy. #}
        case when op = 'r' then if(
            coalesce(key, 'null') = 'null' and ts_us is null, cast(position as string),
            md5(concat_ws(' ', topic, value))
        ) end as snapshot_row,
        {%- if batch.has_later_rows %}
        case when op = 'r' then {{ dbt_cdc._debezium_key_text() }} end as snapshot_key,
        {%- endif %}
        xxhash64(
            {{ "source.file, source.pos, if(op in ('c', 'u', 'd', 'r'), source.`row`, null), ddl, tableChanges"
                if batch.is_binlog
                else 'source.commit_lsn, source.change_lsn, source.event_serial_no' if batch.is_sqlserver
                else 'source.lsn' }},
            op, source_schema, source_name, images
        ) as content
        {%- if batch.is_binlog %},
        nullif(source.server_id, '0') as server,
        key,
        -- a DDL has none: its `row` is that of the event before it
        if(op in ('c', 'u', 'd', 'r'), cast(source.`row` as bigint), 0) as event_row,
        cast(transaction.total_order as bigint) as total_order,
        transaction.id is not null as has_metadata,
        ddl,
        {{ dbt_cdc._debezium_binlog_changes() | indent(8) }} as table_changes
        {%- elif batch.is_sqlserver %},
        topic,
        key,
        xid as commit_lsn,
        {{ dbt_cdc._debezium_sqlserver_lsn('source.change_lsn') }} as change_lsn,
        cast(source.event_serial_no as int) as serial,
        transaction.id is not null as has_metadata
        {%- elif batch.has_untold %},
        {{ dbt_cdc._debezium_is_untold() }} as is_untold,
        cast(get_json_object(source.sequence, '$[0]') as bigint) as previous_end,
        source.sequence is not null as has_sequence,
        topic,
        if(ts_us is null and coalesce(key, 'null') = 'null', cast(position as string), md5(value)) as event_text,
        cast(ts_ms as bigint) as sent_at
        {%- endif %}
    from envelopes
    where rand() < 1
    distribute by xid
)
{%- if batch.is_sqlserver %},

events as (
    {{- dbt_cdc._debezium_sqlserver_events(batch) }}
)
{%- elif batch.has_untold %},

{{ dbt_cdc._debezium_binlog_events(batch) if batch.is_binlog else dbt_cdc._debezium_told(batch) }}
{%- endif %}
{%- endmacro %}


{#- The JSON of an event, with and without its schema. Texts, since Debezium writes numbers as either; an image
    is one text. -#}
{% macro _debezium_envelope(batch) -%}
    {%- set fields = [] -%}
    {%- for name, data_type in dbt_cdc._debezium_payload(batch).items() -%}
        {%- do fields.append(name ~ ': ' ~ data_type) -%}
    {%- endfor -%}
    struct<{{ fields | join(', ') }}, payload: struct<{{ fields | join(', ') }}>, {# -#}
    `schema`: struct<fields: array<struct<field: string, fields: array<struct<{# -#}
    field: string, type: string, name: string, parameters: struct<scale: string>>>>>>, {# -#}
    _corrupt_record: string>
{%- endmacro %}


{% macro _debezium_payload(batch) %}
    {% do return(dict({
        'op': 'string', 'status': 'string', 'id': 'string', 'event_count': 'string',
        'ts_ms': 'string', 'ts_us': 'string',
        'source': 'struct<connector: string, name: string, db: string, `schema`: string, `table`: string, '
            ~ 'snapshot: string, lsn: string, txId: string, sequence: string, ts_us: string, ts_ms: string'
            ~ (', server_id: string, gtid: string, file: string, pos: string, `row`: string>' if batch.is_binlog
                else ', commit_lsn: string, change_lsn: string, event_serial_no: string>' if batch.is_sqlserver
                else '>'),
        'transaction': 'struct<id: string, total_order: string>',
        'before': 'string', 'after': 'string',
    }, **({'ddl': 'string', 'tableChanges': 'string'} if batch.is_binlog or batch.is_sqlserver else {}))) %}
{% endmacro %}


{#- What an event is, or an error that says what is wrong with it. -#}
{% macro _debezium_kind(events, batch) -%}
    {%- set place = "concat_ws('', 'event at position ', position, ' of topic ', topic)" -%}
    {%- set mend = ', which has its file, too, where the landing keeps that; correct it (an UPDATE, sent by '
        ~ 'run_statement), or land it again and take it out: ' ~ dbt_cdc._take_out_advice(events, 'position = ...')
        ~ '; then run again: nothing of this batch is in the log' -%}
    case
        when position is null
            then {{ dbt_cdc._raise_bad_record(
                dbt_cdc._literal('an event in ' ~ events), "'it has no position, as a line that was cut'",
                'look at select * from ' ~ events ~ ' where position is null, which has its file, too, where the '
                ~ 'landing keeps that; give the event its position (an UPDATE, sent by run_statement), or delete it '
                ~ 'and land it again; then run again: nothing of this batch is in the log'
            ) | indent(8) }}
        when value is null or value = 'null'
            then 'tombstone'
        {#- of two JSON texts Spark reads the first #}
        when unreadable is not null or {{ dbt_cdc._has_two_texts('value') }}
            then {{ dbt_cdc._raise_bad_record(
                place, "'it is not readable JSON, or more than one'", 'look at its row in ' ~ events ~ mend
            ) | indent(8) }}
        when status in ('BEGIN', 'END')
            and not coalesce(id, '') rlike '
            {%- if batch.is_binlog %}.
            {%- elif batch.is_sqlserver %}{{ dbt_cdc._debezium_sqlserver_pattern() }}
            {%- else %}^[^:]+:[0-9]+\\z
            {%- endif %}'
            then {{ dbt_cdc._raise_bad_record(
                place, "concat('its transaction id ', coalesce(id, 'NULL'), ' has no LSN')",
                'land the events as the connector writes them' if batch.is_sqlserver
                else 'read PostgreSQL, no other source, with Debezium 2 or later'
            ) | indent(8) }}
        when status = 'END' and try_cast(event_count as bigint) is null
            then {{ dbt_cdc._raise_bad_record(
                place, "concat('END of transaction ', id, ' has no event_count')",
                'land the events as the connector writes them') | indent(8) }}
        when status in ('BEGIN', 'END')
            then status
        when source.connector not in ({{ dbt_cdc._literals(
            ['mysql', 'mariadb'] if batch.is_binlog else ['sqlserver'] if batch.is_sqlserver else ['postgresql']) }})
            then raise_error(concat(
                'CDC 22988: ', {{ place }}, ' comes from the connector ', source.connector,
                {{ dbt_cdc._literal(dbt_cdc._advice(dbt_cdc._connector_advice())) }}
            ))
        {%- if batch.database %}
        when {{ dbt_cdc._debezium_database(batch) }} <> {{ dbt_cdc._literal(batch.database) }}
            then {{ dbt_cdc._raise_bad_record(
                place,
                "concat('it comes from ', " ~ dbt_cdc._debezium_database(batch) ~ ", ', and the log is of ', "
                ~ dbt_cdc._literal(batch.database) ~ ")",
                'LSNs of two databases or connectors do not compare: give each a log and a schema of its own'
            ) | indent(8) }}
        {%- endif %}
        when source.snapshot = 'incremental'
            then {{ dbt_cdc._raise_bad_record(
                place, "'it is a row of an incremental snapshot'",
                'leave these events out of the relation, and take a blocking snapshot in their place (the signal '
                ~ 'execute-snapshot of type blocking)'
            ) | indent(8) }}
        {%- if batch.is_binlog %}
        {{ dbt_cdc._debezium_binlog_faults(place) }}
        {%- elif batch.is_sqlserver %}
        {{ dbt_cdc._debezium_sqlserver_faults(place) }}
        {%- else %}
        when op in ('c', 'u', 'd', 't') and transaction.total_order is null
            {{- ' and (source.txId is null or source.sequence is null)' if batch.has_untold }}
            then {{ dbt_cdc._raise_bad_record(
                place, "'it does not tell its transaction'",
                'set provide.transaction.metadata=true in the connector, or read the source with Debezium 2 or later'
            ) | indent(8) }}
        {%- endif %}
        when {{ dbt_cdc._debezium_is_rounded() | indent(8) }}
            then {{ dbt_cdc._raise_bad_record(
                place, "'a number has more digits than a double'",
                'let the connector write decimals as bytes or strings (decimal.handling.mode)'
            ) | indent(8) }}
        {#- its images have the same columns; PostgreSQL's xmin comes with what writes each NULL -#}
        when op = 'u' and not contains(value, '"xmin":null') and if(
            before is null,
            not value rlike '[:,\\[]\\s*null',
            size(array_except(json_object_keys(before), json_object_keys(after))) > 0
        )
            then {{ dbt_cdc._raise_bad_record(
                place, "'what has decoded it leaves NULLs out: an update to NULL would keep the value before'",
                'let it write them (in Spark, to_json with ignoreNullFields=false), and land the events anew'
            ) | indent(8) }}
        when op in ('c', 'u', 'd', 't', 'r', 'm')
            then op
        {#- it tells the time and no more, in whatever topic: its prefix can be set, topics be made one #}
        when json_object_keys(coalesce(get_json_object(value, '$.payload'), value)) = array('ts_ms')
            then 'heartbeat'
        else {{ dbt_cdc._raise_bad_record(
            place, "'it is no Debezium change event'",
            'land the events as Debezium writes them; read those of ExtractNewRecordState through unflattened_events'
        ) | indent(4) }}
    end
{%- endmacro %}
