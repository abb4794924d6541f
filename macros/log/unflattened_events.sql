{#- Debezium's events out of flattened ones (ExtractNewRecordState), for debezium_log to read: the body of a view. The
    transform leaves before images and TRUNCATEs out; the rest is there where `add.fields` tells it. `_log.yml` tells
    the arguments. -#}
{% macro unflattened_events(events, prefix='__', tombstones='refuse') -%}
    {%- do dbt_cdc._unflattened_check_arguments(prefix, tombstones) -%}
{%- set place = "concat('event at position ', position, ' of topic ', topic)" -%}
with payloads as (
    select
        position,
        topic,
        key,
        headers,
        value,
        reverse(split(topic, '[.]')) as topic_names,
        coalesce(value rlike '(?s)^[{]"schema":\\s*([{]|null).*"payload"\\s*:', false) as is_with_schema,
        coalesce(get_json_object(value, '$.payload'), value) as payload_or_value,
        -- as it is written: a JSON parser would round numbers
        if(is_with_schema, regexp_extract(value, '(?s)"payload"\\s*:\\s*([{].*[}])\\s*[}]\\s*\\z', 1), value) as payload
    from {{ events }}
),

told as (
    select
        *,
        from_json(payload, '{{ dbt_cdc._unflattened_type(prefix) }}') as told,
        regexp_replace(
            regexp_replace(payload, ',\\s*{{ dbt_cdc._unflattened_member(prefix) }}', ''),
            '^\\s*[{]\\s*{{ dbt_cdc._unflattened_member(prefix) }}\\s*(,\\s*|(?=[}]))', '{'
        ) as image,
        nullif(if(get_json_object(key, '$.schema.type') = 'struct', get_json_object(key, '$.payload'), key), 'null')
            as key_image
    from payloads
),

fields as (
    select
        * except (payload, told),
        told.`{{ prefix }}op` as op,
        told.`{{ prefix }}ts_ms` as ts_ms,
        told.`{{ prefix }}ts_us` as ts_us,
        {%- for name in dbt_cdc._unflattened_source() %}
        {%- set alone = ', told.`' ~ prefix ~ name ~ '`' if name not in ['ts_ms', 'ts_us'] %}
        coalesce(told.`{{ prefix }}source_{{ name }}`{{ alone }}) as source_{{ name }},
        {%- endfor %}
        told.`{{ prefix }}transaction_id` as transaction_id,
        told.`{{ prefix }}transaction_total_order` as total_order,
        coalesce(source_table, get(topic_names, 0)) as table_name,
        -- MySQL's source has no schema; a topic tells one where it is named by the table, not where all are routed
        coalesce(
            source_schema, if(source_file is null, null, source_db),
            -- in a topic's name Debezium writes _ for what may not be there
            if(regexp_replace(table_name, '[^A-Za-z0-9._-]', '_') = get(topic_names, 0), get(topic_names, 1), null)
        ) as schema_name,
        -- where it belongs: in PostgreSQL's log, in SQL Server's, in a binary log
        coalesce(source_lsn, source_commit_lsn, concat(source_file, source_pos, source_row)) as place,
        coalesce(transaction_id, source_sequence, source_commit_lsn, source_gtid) as transaction
    from told
)

select
    position,
    topic,
    key,
    case
        -- taken out by hand, as docs/landing.md shows
        when startswith(topic, 'removed.')
            then cast(null as string)
        when value is null or value = 'null'
            then {{ "value" if tombstones == 'pass' else dbt_cdc._raise_bad_record(
                place, "'it is a tombstone, and nothing tells whether it is a delete of its own'",
                'set transforms.unwrap.delete.tombstone.handling.mode=rewrite in the connector; where it is '
                ~ "rewrite-with-tombstone, each tombstone follows its delete: give tombstones='pass'") | indent(12) }}
        -- not flattened: the topic of transactions, heartbeats, logical messages, what the transform is kept from
        when op is null and (
            get_json_object(payload_or_value, '$.status') in ('BEGIN', 'END')
            or json_object_keys(payload_or_value) = array('ts_ms')
            or get_json_object(payload_or_value, '$.tableChanges') is not null
            or get_json_object(payload_or_value, '$.op') in ('m', 't')
            and get_json_object(payload_or_value, '$.source.connector') is not null
        )
            then value
        when op is null or place is null or coalesce(source_ts_us, source_ts_ms) is null
            or (transaction is null and op <> 'r') or schema_name is null or table_name is null
            then {{ dbt_cdc._raise_bad_record(
                place,
                "concat('it is flattened, and does not tell ', array_join(filter(array(if(op is null, 'op', ''), "
                ~ "if(place is null, 'source.lsn', ''), if(coalesce(source_ts_us, source_ts_ms) is null, "
                ~ "'source.ts_us', ''), if(transaction is null and op <> 'r', 'source.sequence', ''), "
                ~ "if(schema_name is null, if(source_file is null, 'source.schema', 'source.db'), ''), "
                ~ "if(table_name is null, 'source.table', ''))"
                ~ ", name -> name <> ''), ', '))",
                dbt_cdc._unflattened_line()) | indent(12) }}
        else concat(
            if(is_with_schema, concat(
                '{"schema":{"fields":[{"field":"after","fields":[',
                -- the transform adds its members to them, too
                coalesce(array_join(filter(
                    from_json(get_json_object(value, '$.schema.fields'), 'array<string>'),
                    field -> not get_json_object(field, '$.field') rlike
                        '^{{ dbt_cdc._unflattened_name(prefix) }}\\z'
                ), ','), ''), ']}]},"payload":'
            ), ''),
            '{"before":', if(op = 'd', coalesce(key_image, image), 'null'),
            ',"after":', if(op in ('d', 't'), 'null', image),
            ',', substr(to_json(named_struct(
                'op', op,
                'ts_ms', cast(ts_ms as bigint),
                'ts_us', cast(ts_us as bigint),
                'source', named_struct(
                    {%- for name in dbt_cdc._unflattened_source() %}
                    '{{ name }}', {{ {
                        'connector': "coalesce(source_connector, if(source_lsn is not null, 'postgresql', "
                            ~ "if(source_commit_lsn is not null, 'sqlserver', 'mysql')))",
                        'schema': 'schema_name',
                        'table': 'table_name',
                    }.get(name, 'source_' ~ name) }}{{ ',' if not loop.last }}
                    {%- endfor %}
                ),
                'transaction', if(transaction_id is null, null, named_struct(
                    'id', transaction_id, 'total_order', total_order
                ))
            )), 2),
            if(is_with_schema, '}', '')
        )
    end as value,
    headers
from fields
{%- endmacro %}


{% macro _unflattened_check_arguments(prefix, tombstones) %}
    {% do dbt_cdc.raise_cdc_error(
        22963, "unflattened_events: prefix is '" ~ prefix ~ "'",
        "give the connector's add.fields.prefix, of letters, digits and _; '__' by default"
    ) if prefix is not string or not modules.re.fullmatch('[A-Za-z0-9_]+', prefix) %}
    {% do dbt_cdc.raise_cdc_error(
        22963, "unflattened_events: tombstones is '" ~ tombstones ~ "'", "give 'refuse' or 'pass'")
        if tombstones not in ['refuse', 'pass'] %}
{% endmacro %}


{#- What the transform has to add. -#}
{% macro _unflattened_line() %}
    {% do return(
        'set transforms.unwrap.add.fields=op,ts_us,source.db,source.schema,source.table,source.name,source.connector,'
        ~ 'source.snapshot,source.lsn,source.txId,source.sequence,source.ts_us,transaction.id,transaction.total_order '
        ~ 'in the connector (of MySQL source.file,source.pos,source.row,source.gtid,source.server_id, of SQL Server '
        ~ 'source.commit_lsn,source.change_lsn,source.event_serial_no for those of PostgreSQL); the events that lack '
        ~ 'them cannot be put in order: land them again'
    ) %}
{% endmacro %}


{% macro _unflattened_source() %}
    {% do return([
        'connector', 'name', 'db', 'schema', 'table', 'snapshot', 'lsn', 'txId', 'sequence', 'ts_us', 'ts_ms',
        'server_id', 'gtid', 'file', 'pos', 'row', 'commit_lsn', 'change_lsn', 'event_serial_no'
    ]) %}
{% endmacro %}


{#- The members that the transform adds, as texts: with the path of the field, or its name alone. -#}
{% macro _unflattened_type(prefix) -%}
    {%- set names = ['op', 'ts_ms', 'ts_us', 'transaction_id', 'transaction_total_order'] -%}
    {%- for name in dbt_cdc._unflattened_source() -%}
        {%- do names.append('source_' ~ name) -%}
        {%- do names.append(name) if name not in names -%}
    {%- endfor -%}
    {%- for name in names -%}
`{{ prefix }}{{ name }}` string{{ ', ' if not loop.last }}
    {%- endfor -%}
{%- endmacro %}


{#- The pattern of a member that the transform may have added. -#}
{% macro _unflattened_member(prefix) -%}
    "{{ dbt_cdc._unflattened_name(prefix) }}"\\s*:\\s*(?:"(?:[^"\\\\]|\\\\.)*+"|[^,{}\\[\\]"]+)
{%- endmacro %}


{#- Those of the envelope, of its source and transaction; the mark of a delete has no prefix of one's own. -#}
{% macro _unflattened_name(prefix) %}
    {% do return('(?:__deleted|' ~ prefix
        ~ '(?:op|ts_[mun]s|version|connector|name|snapshot|db|sequence|schema|table|txId|lsn|xmin|server_id'
        ~ '|gtid|file|pos|row|thread|query|commit_lsn|change_lsn|event_serial_no'
        ~ '|source_[A-Za-z_]+|transaction_[a-z_]+))') %}
{% endmacro %}
