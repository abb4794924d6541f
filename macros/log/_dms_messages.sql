{#- CTE `landed` out of the messages of a stream, a row for each image. Those of AWS DMS are {data, before-image,
    metadata}, those of Qlik Replicate {message: {data, beforeData, headers}}, or what is in `message` alone. -#}
{% macro _dms_messages(batch) -%}
{%- set seq = modules.re.escape(batch.headers.get('change_seq', 'AR_H_CHANGE_SEQ')) -%}
{%- set has_topic = dbt_cdc._exported_has(batch.messages, 'topic') -%}
messages as (
    select
        position,
        value,
        cast({{ 'topic' if has_topic else 'null' }} as string) as topic,
        from_json(value, '{{ dbt_cdc._dms_envelope() }}') as event
    from {{ batch.messages }}
),

told as (
    select
        position,
        value,
        topic,
        event._corrupt_record is not null as is_unreadable,
        coalesce(event.metadata.`record-type` = 'control' or event.type = 'MD', false) as is_control,
        coalesce(event.message.headers, event.headers) as headers,
        lower(coalesce(event.metadata.operation, headers.operation)) as verb,
        coalesce(event.metadata.`transaction-id`, headers.transactionId) as transaction_id,
        coalesce(event.`before-image`, event.message.beforeData, event.beforeData) as before_copy,
        coalesce(event.message.data, event.data) as after_copy,
        {{ dbt_cdc._dms_written('before_copy', 'before-image|beforeData') }} as before,
        {{ dbt_cdc._dms_written('after_copy', 'data') }} as after,
        coalesce(after, before) as row_told,
        if(verb in ('load', 'refresh'), null, coalesce(
            nullif(headers.changeSequence, ''), {{ dbt_cdc._dms_value('row_told', seq) }}
        )) as change_seq,
        coalesce(
            nullif(event.metadata.`schema-name`, ''),
            {{ dbt_cdc._dms_value('row_told', 'AR_M_SOURCE_SCHEMA') }},
            regexp_extract(if(event.metadata is null, topic, null), '^([^.]+)[.][^.]+\\z', 1)
        ) as source_schema,
        coalesce(
            nullif(event.metadata.`table-name`, ''),
            {{ dbt_cdc._dms_value('row_told', 'AR_M_SOURCE_TABLE_NAME') }},
            regexp_extract(if(event.metadata is null, topic, null), '^[^.]+[.]([^.]+)\\z', 1)
        ) as source_name
    from messages
),

imaged as (
    select
        *,
        {{ dbt_cdc._dms_message_image('before', seq) | indent(8) }} as before_image,
        {{ dbt_cdc._dms_message_image('after', seq) | indent(8) }} as after_image,
        -- of a deleted row one of them may be the key alone
        if(
            verb = 'delete' and length({{ dbt_cdc._dms_without_nulls('before_image') | indent(12) }})
            > length({{ dbt_cdc._dms_without_nulls('after_image') | indent(12) }}),
            before_image, coalesce(after_image, before_image)
        ) as row_image,
        {{ dbt_cdc._dms_has_key(batch) }} as has_key,
        {{ dbt_cdc._dms_message_key(batch) | indent(8) }} as key_image
    from told
),

checked as (
    select
        *,
        {{ dbt_cdc._dms_letter(batch) | indent(8) }} as checked_letter
    from imaged
),

landed as (
    select
        source_schema,
        source_name,
        change_seq,
        transaction_id,
        key_image,
        inline(case
            when checked_letter = 'U' and not has_key then array(
                struct('B' as letter, before_image as image), struct('U' as letter, after_image as image)
            )
            when checked_letter = 'D' then array(struct(
                'D' as letter,
                -- what a deleted row has beside its key not all sources tell
                if(has_key, {{ dbt_cdc._dms_without_nulls('row_image') | indent(16) }}, row_image) as image
            ))
            else array(struct(checked_letter as letter, after_image as image))
        end)
    from checked
    where checked_letter <> ''
)
{%- endmacro %}


{#- A row as it is written: the JSON parser's copy may lack digits. Where it has nested values, the copy. -#}
{% macro _dms_written(copy, names) -%}
{%- set written = '"(?:' ~ names ~ ')"\\s*:\\s*(' ~ dbt_cdc._dms_flat() ~ ')' -%}
if(
            {{ dbt_cdc._dms_is_flat(copy) }},
            regexp_extract(value, {{ dbt_cdc._literal(written) }}, 1),
            {{ copy }}
        )
{%- endmacro %}


{#- The pattern of a row without nested values. -#}
{% macro _dms_flat() %}
    {% do return('[{](?:[^{}"]++|"(?:[^"\\\\]|\\\\.)*+")*+[}]') %}
{% endmacro %}


{% macro _dms_is_flat(image) -%}
{{ image }} rlike {{ dbt_cdc._literal('^' ~ dbt_cdc._dms_flat() ~ '\\z') }}
{%- endmacro %}


{#- The JSON of a message. -#}
{% macro _dms_envelope() -%}
{%- set qlik = 'data string, beforeData string, headers struct<operation: string, changeSequence: string, '
    ~ 'transactionId: string>' -%}
`before-image` string, metadata struct<`record-type`: string, operation: string, `schema-name`: string, {# -#}
`table-name`: string, `transaction-id`: string>, type string, {{ qlik }}, {# -#}
message struct<{{ qlik }}>, _corrupt_record string
{%- endmacro %}


{#- A relation of messages need not have keys. -#}
{% macro _dms_take_out_advice(batch, which='...') %}
    {% do return(dbt_cdc._take_out_advice(batch.messages, which, dbt_cdc._exported_has(batch.messages, 'key'))) %}
{% endmacro %}


{#- What a message is: I, U, D, T, nothing where it changes no row, or an error that says what is wrong with it. -#}
{% macro _dms_letter(batch) -%}
{%- set place = "concat_ws('', 'message at position ', position, ' of topic ' || topic)" -%}
{%- set look = 'look at its row in ' ~ batch.messages ~ '; correct it (an UPDATE, sent by run_statement), or land it '
    ~ 'again and take it out: ' ~ dbt_cdc._dms_take_out_advice(batch, 'position = ...')
    ~ '; then run again: nothing of this batch is in the log' -%}
case
    when position is null
        then {{ dbt_cdc._raise_bad_record(
            dbt_cdc._literal('a message in ' ~ batch.messages), "'it has no position'",
            'give it its position (an UPDATE, sent by run_statement), or delete it and land it again; then run again: '
            ~ 'nothing of this batch is in the log'
        ) | indent(8) }}
    -- a tombstone
    when value is null or value = 'null'
        then ''
    {#- of two JSON texts Spark reads the first #}
    when is_unreadable or {{ dbt_cdc._has_two_texts('value') }}
        then {{ dbt_cdc._raise_bad_record(place, "'it is not readable JSON, or more than one'", look) | indent(8) }}
    when is_control and not coalesce(verb like 'truncate%', false)
        then ''
    when verb is null
        then {{ dbt_cdc._raise_bad_record(
            place, "'it is no message of AWS DMS or Qlik Replicate'",
            'land the messages as they are, in JSON: with data and metadata (DMS), or data and headers (Qlik)'
        ) | indent(8) }}
    when not (verb in ('load', 'refresh', 'insert', 'update', 'delete') or verb like 'truncate%')
        then {{ dbt_cdc._raise_bad_record(
            place, "concat('its operation is ', verb)",
            'operations are load, insert, update and delete (DMS), REFRESH, INSERT, UPDATE and DELETE (Qlik)'
        ) | indent(8) }}
    when coalesce(source_schema, '') = '' or coalesce(source_name, '') = ''
        then {{ dbt_cdc._raise_bad_record(
            place, "'it does not tell its table'",
            'send each table to a topic of its own, schema.table, and land the column topic; or add the columns '
            ~ 'AR_M_SOURCE_SCHEMA and AR_M_SOURCE_TABLE_NAME to all tables in the task ('
            ~ dbt_cdc._page('sources/dms.md') ~ ')'
        ) | indent(8) }}
    when change_seq is null and verb like 'truncate%'
        then {{ dbt_cdc._raise_bad_record(
            place, "concat('it tells a TRUNCATE of ', source_schema, '.', source_name, ', and not its place')",
            'begin again with a log and a schema of their own, and load the table again; where nothing is captured '
            ~ 'yet, take the message out: ' ~ dbt_cdc._dms_take_out_advice(batch, 'position = ...')
        ) | indent(8) }}
    when change_seq is null and verb not in ('load', 'refresh')
        then {{ dbt_cdc._raise_bad_record(
            place, "'it has no change_seq'",
            'add AR_H_CHANGE_SEQ to all tables in the task (' ~ dbt_cdc._page('sources/dms.md')
            ~ "), or name the column that has it: headers={'change_seq': ...}"
        ) | indent(8) }}
    when verb like 'truncate%'
        then 'T'
    when if(verb = 'delete', row_told, after) is null
        then {{ dbt_cdc._raise_bad_record(place, "concat('it has no row, and is of operation ', verb)", look)
            | indent(8) }}
    when {{ dbt_cdc._debezium_is_rounded() | indent(4) }}
        then {{ dbt_cdc._raise_bad_record(
            place, "'a number has more digits than a double'",
            'let the task send nested values as texts: a row that has none keeps all digits'
        ) | indent(8) }}
    when verb = 'update' and has_key and key_image is null
        then {{ dbt_cdc._raise_bad_record(
            place, "concat('it lacks a column of the key of ', source_schema, '.', source_name, ', or has it behind a "
            ~ "nested value')", 'keys names columns that each message of the table has, before those with nested values'
        ) | indent(8) }}
    when verb = 'update' and not has_key
        and not array_sort(json_object_keys(before_image)) <=> array_sort(json_object_keys(after_image))
        then {{ dbt_cdc._raise_bad_record(
            place,
            "concat('the row before the update of ', source_schema, '.', source_name, coalesce(concat(' has ', "
            ~ "array_join(json_object_keys(before_image), ', ')), ' is missing'), '; the row behind it has ', "
            ~ "array_join(json_object_keys(after_image), ', '))",
            'let the task send whole rows before updates, and NULLs (' ~ dbt_cdc._page('sources/dms.md')
            ~ "), or give the table's key: keys={'dbo.orders': ['order_id']}"
        ) | indent(8) }}
    when verb = 'update'
        then 'U'
    when verb = 'delete'
        then 'D'
    else 'I'
end
{%- endmacro %}


{#- Whether `keys` has the table: then the row before an update is its key. -#}
{% macro _dms_has_key(batch) -%}
{%- if batch['keys'] -%}
concat(source_schema, '.', source_name) in ({{ dbt_cdc._literals(batch['keys']) }})
{%- else -%}
false
{%- endif -%}
{%- endmacro %}


{#- The key of the row before an update: as the image before it tells it, if it does, else as the row has it. -#}
{% macro _dms_message_key(batch) -%}
{%- set images = {} -%}
{%- for table, columns in batch['keys'].items() -%}
    {%- set members = [] -%}
    {%- for column in columns -%}
        {%- set name = modules.re.escape(column) -%}
        {%- do members.append(
            dbt_cdc._literal(tojson(column) ~ ':') ~ ', coalesce(' ~ dbt_cdc._dms_json('before', name, true) ~ ', '
            ~ dbt_cdc._dms_json('after', name, true) ~ ')'
        ) -%}
    {%- endfor -%}
    {%- do images.update({table: "concat('{', " ~ members | join(", ',', ") ~ ", '}')"}) -%}
{%- endfor -%}
{%- if images -%}
{{ dbt_cdc._case_of("concat(source_schema, '.', source_name)", images) }}
{%- else -%}
cast(null as string)
{%- endif -%}
{%- endmacro %}


{#- The pattern of a member of a row. A quote inside a text has a backslash, so it matches members alone. -#}
{% macro _dms_member(names) %}
    {% do return('"(?:' ~ names ~ ')"\\s*:\\s*("(?:[^"\\\\]|\\\\.)*+"|[^",}\\s]++)') %}
{% endmacro %}


{#- The JSON of a member's value; NULL where there is none. `is_outer`: a nested value may have one of the name, so that
    none is taken that stands behind a brace. -#}
{% macro _dms_json(image, names, is_outer=false) -%}
{%- set before = '^\\s*[{](?:(?!"(?:' ~ names ~ ')"\\s*:)(?:[^{}"]++|"(?:[^"\\\\]|\\\\.)*+"))*+'
    if is_outer else '' -%}
nullif(nullif(regexp_extract({{ image }}, {{ dbt_cdc._literal(before ~ dbt_cdc._dms_member(names)) }}, 1), ''), 'null')
{%- endmacro %}


{#- The text of a member that the task has added, in whatever case it writes its name. -#}
{% macro _dms_value(image, names) -%}
nullif(trim(both '"' from {{ dbt_cdc._dms_json(image, '(?i)' ~ names) }}), '')
{%- endmacro %}


{#- A row as it is written, without what the task added to it. -#}
{% macro _dms_message_image(image, seq) -%}
{%- set member = dbt_cdc._dms_member('(?i)AR_[HM]_\\w+|' ~ seq) -%}
regexp_replace(
    regexp_replace({{ image }}, {{ dbt_cdc._literal(',\\s*' ~ member) }}, ''),
    {{ dbt_cdc._literal('^[{]\\s*' ~ member ~ '\\s*,?\\s*') }}, '{'
)
{%- endmacro %}


{#- A row without its NULLs; with nested values, which have members of their own, as it is. -#}
{% macro _dms_without_nulls(image) -%}
{%- set null_member = '\\s*"[^"\\\\]*"\\s*:\\s*null' -%}
if(
    {{ dbt_cdc._dms_is_flat(image) }},
    regexp_replace(
        regexp_replace({{ image }}, {{ dbt_cdc._literal(',' ~ null_member) }}, ''),
        {{ dbt_cdc._literal('^[{]' ~ null_member ~ '\\s*,?\\s*') }}, '{'
    ),
    {{ image }}
)
{%- endmacro %}
