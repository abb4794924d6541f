{#- The rows of files, by layout, with all that is wrong with them. -#}

{#- CTEs `files` and `rows`: file_path, file_size, file_modified_at, file_line, position (layout events), topic,
    partition, offset, key, value, headers, timestamp; `mark_topic`, `mark_partition` and `mark`, the place that
    reading on goes by; `problem` and `text`. -#}
{% macro _landing_rows(batch) -%}
files as (
    select
        file_path,
        file_name,
        topic,
        cast(partition as int) as partition,
        cast(start_offset as bigint) as start_offset,
        cast(first_position as bigint) as first_position,
        cast(file_size as bigint) as file_size,
        timestamp_micros(cast(file_micros as bigint)) as file_modified_at,
        cast(line_count as bigint) as line_count
        {%- for companion in batch.companions_kept %},
        {{ companion }}_path
        {%- endfor %}
    from values
        {%- for file in batch.files %}
        ({{ dbt_cdc._literal(file.file_path) }}, {{ dbt_cdc._literal(file.file_name) }}, {# -#}
        {{ dbt_cdc._literal(file.topic) }}, {{ dbt_cdc._landing_number(file.partition) }}, {# -#}
        {{ dbt_cdc._landing_number(file.start_offset) }}, {{ file.first_position or 0 }}, {# -#}
        {{ file.file_size }}, {{ file.file_micros }}, {{ file.get('lines', 0) }}
        {%- for companion in batch.companions_kept -%}
        , {{ dbt_cdc._literal(file[companion ~ '_path']) }}
        {%- endfor %}){{ ',' if not loop.last }}
        {%- endfor %}
        as files (
            file_path, file_name, topic, partition, start_offset, first_position, file_size, file_micros, line_count
            {%- for companion in batch.companions_kept -%}
            , {{ companion }}_path
            {%- endfor -%}
        )
),

{% if batch.layout == 'parquet' -%}
{{ dbt_cdc._landing_parquet_rows(batch) }}
{%- else -%}
{{ dbt_cdc._landing_lines(batch) }},

{% if batch.layout == 'kafka_connect' -%}
{{ dbt_cdc._landing_connect_rows(batch) }}
{%- else -%}
{{ dbt_cdc._landing_event_rows(batch) }}
{%- endif %}
{%- endif %}
{%- endmacro %}


{% macro _landing_number(number) %}
    {% do return('null' if number is none else number) %}
{% endmacro %}


{#- Spark hands out the numbers of monotonically_increasing_id in the order of a split's lines, and a file's splits are
    known by where they begin: so lines have numbers without a file being one value. -#}
{% macro _landing_lines(batch) -%}
    {%- set paths = [] -%}
    {%- for file in batch.files -%}
        {%- do paths.append(file.file_path) -%}
        {%- for companion in batch.companions_kept -%}
            {%- do paths.append(file[companion ~ '_path']) -%}
        {%- endfor -%}
    {%- endfor -%}
read_lines as (
    select
        value as line,
        _metadata.file_path as file_path,
        _metadata.file_size as file_size,
        _metadata.file_modification_time as file_modified_at,
        _metadata.file_block_start as split_start,
        monotonically_increasing_id() as id
    from {{ dbt_cdc._landing_source('text', batch.folder) }}
    where _metadata.file_path in ({{ dbt_cdc._literals(paths) }})
),

lines as (
    select
        *,
        cast(row_number() over (partition by file_path order by split_start, id) as bigint) as file_line
    from read_lines
)
{%- endmacro %}


{% macro _landing_connect_rows(batch) -%}
rows as (
    select
        lines.file_path,
        lines.file_size,
        lines.file_modified_at,
        lines.file_line,
        cast(null as bigint) as position,
        files.topic,
        files.partition,
        files.start_offset + lines.file_line - 1 as offset,
        {{ 'keys_lines.line' if 'keys' in batch.companions_kept else 'cast(null as string)' }} as key,
        lines.line as value,
        {{ 'headers_lines.line' if 'headers' in batch.companions_kept else 'cast(null as string)' }} as headers,
        cast(null as timestamp) as timestamp,
        files.topic as mark_topic,
        files.partition as mark_partition,
        files.start_offset + lines.file_line - 1 as mark,
        case
            when {{ dbt_cdc._landing_is_torn('lines.line') }} then 'it is not one JSON object'
            when {{ dbt_cdc._landing_is_record('lines.line') | indent(12) }}
                then {{ dbt_cdc._literal(dbt_cdc._landing_record_line()) }}
            {%- for companion in batch.companions_kept %}
            when {{ companion }}_lines.file_line is null then 'the file of its {{ companion }} has no such line'
            {%- endfor %}
        end as problem,
        lines.line as text
    from lines
    inner join files on lines.file_path = files.file_path
    {%- for companion in batch.companions_kept %}
    left join lines as {{ companion }}_lines
        on files.{{ companion }}_path = {{ companion }}_lines.file_path
        and lines.file_line = {{ companion }}_lines.file_line
    {%- endfor %}
)
{%- endmacro %}


{#- Whether a line is an event with its offset, of layout kafka_records: it has no member of another kind. -#}
{% macro _landing_is_record(line) -%}
contains({{ line }}, '"offset"')
    and size(array_except(json_object_keys({{ line }}),
        array('topic', 'partition', 'offset', 'key', 'value', 'headers', 'timestamp'))) = 0
    and array_contains(json_object_keys({{ line }}), 'value')
    and get_json_object({{ line }}, '$.offset') is not null
{%- endmacro %}


{% macro _landing_record_line() %}
    {% do return("it has an offset and no position, as a line of layout='kafka_records'") %}
{% endmacro %}


{#- A value may be null, as a tombstone is. -#}
{% macro _landing_is_torn(line) -%}
    {{ line }} <> 'null' and (
                not {{ line }} rlike '(?s)^\\s*[{].*[}]\\s*\\z' or {{ dbt_cdc._has_two_texts(line) }}
                or from_json({{ line }}, 'op string, _corrupt_record string')._corrupt_record is not null
            )
{%- endmacro %}


{#- Of lines that are events with all that belongs to them: `position` is theirs, or they have partition and offset. -#}
{% macro _landing_event_rows(batch) -%}
    {%- set has_positions = batch.layout == 'events' -%}
parsed as (
    select
        *,
        from_json(
            line,
            'position bigint, topic string, partition int, offset bigint, key string, value string, headers string, '
            'timestamp string, _corrupt_record string'
        ) as event
    from lines
    where line <> ''
),

rows as (
    select
        parsed.file_path,
        parsed.file_size,
        parsed.file_modified_at,
        parsed.file_line,
        event.position,
        coalesce(event.topic, files.topic) as topic,
        coalesce(event.partition, files.partition) as partition,
        event.offset,
        event.key,
        event.value,
        event.headers,
        coalesce(
            timestamp_millis(try_cast(event.timestamp as bigint)), try_cast(event.timestamp as timestamp_ltz)
        ) as timestamp,
        {%- if has_positions %}
        cast(null as string) as mark_topic,
        cast(null as int) as mark_partition,
        event.position as mark,
        {%- else %}
        coalesce(event.topic, files.topic) as mark_topic,
        coalesce(event.partition, files.partition) as mark_partition,
        event.offset as mark,
        {%- endif %}
        case
            when event._corrupt_record is not null or {{ dbt_cdc._has_two_texts('line') }}
                then 'it is not one JSON object of an event'
            -- Spark would write their numbers anew
            when line rlike '[{,]\\s*"(key|value)"\\s*:\\s*[{\\[]'
                then 'its key or value is no text that holds JSON, but JSON itself'
            -- a tombstone has one that is null
            when event.value is null and not array_contains(json_object_keys(line), 'value')
                then 'it has no member value'
            {%- if has_positions %}
            when event.position is null
                then if(event.offset is null, 'it has no position', {# -#}
                    {{ dbt_cdc._literal(dbt_cdc._landing_record_line()) }})
            {%- else %}
            when event.offset is null or coalesce(event.partition, files.partition) is null
                or coalesce(event.topic, files.topic) is null
                then 'it has no offset, or neither it nor the name of its file has topic and partition'
            {%- endif %}
        end as problem,
        line as text
    from parsed
    inner join files on parsed.file_path = files.file_path
)
{%- endmacro %}


{% macro _landing_parquet_rows(batch) -%}
    {%- set source = dbt_cdc._landing_source('parquet', batch.folder) -%}
    {%- set columns = dbt_cdc._landing_source_columns(source, {}, batch.place) -%}
rows as (
    select
        _metadata.file_path as file_path,
        _metadata.file_size as file_size,
        _metadata.file_modification_time as file_modified_at,
        cast(row_number() over (
            partition by _metadata.file_path order by {{ columns.topic }}, {{ columns.partition }}, {{ columns.offset }}
        ) as bigint) as file_line,
        cast(null as bigint) as position,
        {%- for name, sql in columns.items() %}
        {{ sql }} as {{ name }},
        {%- endfor %}
        {{ columns.topic }} as mark_topic,
        {{ columns.partition }} as mark_partition,
        {{ columns.offset }} as mark,
        case
            when {{ columns.topic }} is null or {{ columns.partition }} is null or {{ columns.offset }} is null
                then 'it lacks topic, partition or offset'
        end as problem,
        '' as text
    from {{ source }}
    where _metadata.file_path in ({{ dbt_cdc._literals(batch.files | map(attribute='file_path')) }})
)
{%- endmacro %}


{#- In the place of a key: the error of a file that changed or went between the look and the landing. -#}
{% macro _landing_unchanged(batch) -%}
if(
    rows.file_size = files.file_size and rows.file_modified_at = files.file_modified_at, rows.key,
    {{ dbt_cdc._raise_bad_record(
        "concat('file ', files.file_name)",
        "concat('it ', if(rows.file_path is null, 'disappeared', 'changed'), ' while it was read')", 'run again'
    ) | indent(4) }}
)
{%- endmacro %}


{#- A path as all layouts read it, also below folders like partition=0, which would become columns. A file that is cut
    is an error, whatever the session says: else its rest would be missing without a word. -#}
{% macro _landing_source(format, folder) -%}
    {{ format }}.{{ dbt_cdc._column(folder) }} with (recursiveFileLookup = true, ignoreCorruptFiles = false {#- -#}
    {{ ', mergeSchema = true' if format == 'parquet' }})
{%- endmacro %}
