{#- CTE `lines`: the new lines. `wal` is the LSN of a change, of B and C the commit number of the transaction (the end
    of its COMMIT in PostgreSQL's log); `content` tells changes apart. Two steps read it, the transactions and their
    changes: a condition that is not the same each time, and always true, has Spark make it once, shuffled as both want
    it: so long as they take all of its columns (docs/decisions/0013). -#}
{% macro _wal2json_lines(events, batch) -%}
landed as (
    select
        position,
        value,
        {{ dbt_cdc._wal2json_text() | indent(8) }} as text
    from {{ events }}
    {%- if batch.is_bounded %}
    where
        position is null
        or position <= {{ batch.last_position if batch.last_position is not none else -2 ** 63 }}
        {%- if batch.position is not none %} and position > {{ batch.position }}{% endif %}
    {%- endif %}
),

envelopes as (
    select
        position,
        value,
        text,
        split(text, '\n') as parts,
        from_json(
            text,
            'action string, xid string, timestamp string, lsn string, nextlsn string, `schema` string, `table` string, '
            || '_corrupt_record string'
        ) as event
    from landed
),

checked_lines as (
    select
        *,
        {{ dbt_cdc._wal2json_action(events) | indent(8) }} as action
    from envelopes
),

lines as (
    select
        position,
        action,
        -- by which lines are shuffled: no line is left out before its action is asked; and never null: Spark would
        -- test it before it parses, and parse twice
        if(action is null, '', coalesce(event.xid, '')) as xid,
        {{ dbt_cdc._wal2json_lsn_number('coalesce(event.nextlsn, event.lsn)') | indent(4) }} as wal,
        try_cast(event.timestamp as timestamp_ltz) as record_time,
        event.schema as source_schema,
        event.table as source_name,
        case action when 'U' then get(parts, 3) when 'D' then get(parts, 1) end as before,
        case when action in ('I', 'U') then get(parts, 1) end as after,
        {{ dbt_cdc._wal2json_encodings() | indent(8) }} as encodings
        {%- if batch.has_repeats %},
        xxhash64(action, event.schema, event.table, parts) as content
        {%- endif %}
    from checked_lines
    where rand() < 1
    distribute by xid
)
{%- endmacro %}


{#- The line with its tuples as images, {column: value}, between newlines. What is replaced begins or ends with a quote
    next to a comma or a brace, and so is none of a value's text, in which quotes have a backslash. A value keeps its
    own text, each digit of it; numbers of other types than those that JSON's are for get quotes, and those lose them.
    What is short is not looked at again: a column may be called value.
    A boolean of a domain comes as PostgreSQL's t or f. -#}
{% macro _wal2json_text() -%}
{#- the key, which comes last, tells nothing that images do not -#}
{%- set image = namespace(sql="if(contains(value, '],\"pk\":['), "
    ~ "concat(substring_index(trim(value), '],\"pk\":[', 1), ']}'), trim(value))") -%}
{%- for old, new in [
    ('},{"name":', ','),
    (',"columns":[{"name":', ',"columns":\\n{'),
    ('}],"identity":[{"name":', '}\\n,"identity":\\n{'),
    (',"identity":[{"name":', ',"identity":\\n{'),
] -%}
    {%- set image.sql = 'replace(\n    ' ~ image.sql ~ ",\n    '" ~ old ~ "', '" ~ new ~ "')" -%}
{%- endfor -%}
{%- set oid = '(?:,"typeoid":\\\\d+)?' -%}
{%- set numeric = '(?:smallint|integer|bigint|oid|real|double precision)"' ~ oid -%}
{%- for pattern, new in [
    ('[}]\\\\][}]\\\\z', '}\\n}'),
    ('(,"type":(?!"' ~ numeric ~ ')' ~ dbt_cdc._wal2json_json_text() ~ oid ~ ',"value":)(-?\\\\d[^,}]*)', '$1"$2"'),
    ('(,"type":"' ~ numeric ~ ',"value":)"([-+\\\\d.eE]+)"', '$1$2'),
    ('(,"type":"boolean"' ~ oid ~ ',"value":)"t"', '$1true'),
    ('(,"type":"boolean"' ~ oid ~ ',"value":)"f"', '$1false'),
    ('(,"type":"bytea"' ~ oid ~ ',"value":")\\\\\\\\\\\\\\\\x', '$1'),
    ('(?:,"type":' ~ dbt_cdc._wal2json_json_text() ~ oid ~ ')?,"value":', ':'),
] -%}
    {%- set image.sql = 'regexp_replace(\n    ' ~ image.sql ~ ",\n    '" ~ pattern ~ "', '" ~ new ~ "')" -%}
{%- endfor -%}
{{ image.sql }}
{%- endmacro %}


{#- The pattern of a text in quotes, in a SQL literal. -#}
{% macro _wal2json_json_text() -%}
"(?:[^"\\\\]|\\\\.)*+"
{%- endmacro %}


{#- The types that the line tells, {column: type}; NULL without. -#}
{% macro _wal2json_encodings() -%}
{%- set text = dbt_cdc._wal2json_json_text() -%}
case when event.action in ('I', 'U', 'D') and contains(value, ',"type":"') then concat('{', regexp_replace(
    concat_ws(',', array_distinct(regexp_extract_all(value, '[{]"name":{{ text }},"type":{{ text }}', 0))),
    '[{]"name":({{ text }}),"type":', '$1:'
), '}') end
{%- endmacro %}


{#- The line's action, or an error that says what is wrong with it. -#}
{% macro _wal2json_action(events) -%}
    {%- set place = "concat('line at position ', position)" -%}
    {%- set mend = ', correct it (an UPDATE, sent by run_statement), or delete it and land it again; then run again: '
        ~ 'nothing of this batch is in the log' -%}
    {%- set options -%}
nullif(concat_ws(
        ', ',
        case when event.action <> 'M' and event.xid is null then 'include-xids' end,
        case when event.action <> 'M' and try_cast(event.timestamp as timestamp) is null then 'include-timestamp' end,
        case when if(event.action in ('B', 'C'), event.nextlsn, event.lsn) is null then 'include-lsn' end,
        case when event.action in ('I', 'U', 'D', 'T') and event.schema is null then 'include-schemas' end
    ), '')
    {%- endset -%}
case
    when position is null
        then {{ dbt_cdc._raise_bad_record(
            dbt_cdc._literal('a line in ' ~ events), "'it has no position'",
            'look at select * from ' ~ events ~ ' where position is null' ~ mend
        ) | indent(4) }}
    when not is_valid_utf8(value)
        then {{ dbt_cdc._raise_bad_record(
            place, "'it is not UTF-8'",
            'wal2json writes in the encoding of the database: convert the lines (iconv) before they land' ~ mend
        ) | indent(4) }}
    when not coalesce(startswith(text, '{"action":"'), false)
        then {{ dbt_cdc._raise_bad_record(
            place, "'it is no line of wal2json, format version 2'",
            'set format-version=2 where wal2json is started, and land its lines as they are, without a step that '
            ~ 'formats JSON'
        ) | indent(4) }}
    when event._corrupt_record is not null or not endswith(text, '}') or {{ dbt_cdc._has_two_texts('value') }}
        then {{ dbt_cdc._raise_bad_record(
            place, "'it is not readable JSON, or more than one'", 'look at its row in ' ~ events ~ mend
        ) | indent(4) }}
    when {{ options }} is not null
        then {{ dbt_cdc._raise_bad_record(
            place, "concat('it lacks what these options add: ', " ~ options ~ ')',
            'set them to true where wal2json is started (pg_recvlogical -o include-lsn=true); no slot sends a line '
            ~ 'again that was confirmed: begin with a new slot and tables loaded again, in a landing, a log and a '
            ~ 'schema of their own (' ~ dbt_cdc._page('sources/wal2json.md') ~ ')'
        ) | indent(4) }}
    when event.action <> 'M' and {{ dbt_cdc._wal2json_lsn_number('coalesce(event.nextlsn, event.lsn)') }} is null
        then {{ dbt_cdc._raise_bad_record(
            place, "concat('its LSN is ', coalesce(event.nextlsn, event.lsn))", 'look at its row in ' ~ events ~ mend
        ) | indent(4) }}
    when event.action in ('I', 'U', 'D') and (
        contains(value, ',"optional":') or contains(value, ',"position":') or contains(value, ',"default":'))
        then {{ dbt_cdc._raise_bad_record(
            place, "'its columns tell more than name, type and value'",
            'leave out include-not-null, include-column-positions and include-default where wal2json is started'
        ) | indent(4) }}
    when event.action in ('I', 'U', 'D') and not (
        size(parts) = case event.action when 'U' then 5 else 3 end
        and endswith(parts[0], if(event.action = 'D', ',"identity":', ',"columns":')) or event.action <> 'I'
        and size(parts) = case event.action when 'U' then 3 else 1 end and not value rlike '"identity"\\s*:'
    )
        then {{ dbt_cdc._raise_bad_record(
            place, "'its columns are not as wal2json writes them'",
            'land the lines as they are, without a step that formats JSON'
        ) | indent(4) }}
    when event.action in ('B', 'C', 'I', 'U', 'D', 'T', 'M') then event.action
    else {{ dbt_cdc._raise_bad_record(
        place, "concat('its action is ', event.action)", 'land the lines of wal2json alone'
    ) | indent(4) }}
end
{%- endmacro %}
