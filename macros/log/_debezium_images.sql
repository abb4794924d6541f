{#- How the columns of an event's table are encoded: a map from the column to {name, scale}, without
    those whose text is right as it is. By the event's own schema, else by `types`; null if neither
    says anything. -#}
{% macro _debezium_columns(types) -%}
    case
        when event.schema is not null
            then {{ dbt_cdc._debezium_schema_columns(types) | indent(8) }}
        {%- for table, columns in types.items() %}
        when concat(event.source.schema, '.', event.source.table) = {{ dbt_cdc._literal(table) }}
            then map_from_entries(array(
                {%- for column, text in columns.items() %}
                {%- set encoding = dbt_cdc._debezium_encoding(text, table ~ '.' ~ column) %}
                struct({{ dbt_cdc._literal(column) }}, {# -#}
                    struct('{{ encoding.name }}' as name, {{ encoding.scale }} as scale))
                {{- ',' if not loop.last }}
                {%- endfor %}
            ))
        {%- endfor %}
    end
{%- endmacro %}


{% macro _debezium_schema_columns(types) -%}
    {%- set encodings = {
        'org.apache.kafka.connect.data.Decimal': 'decimal',
        'io.debezium.data.VariableScaleDecimal': 'decimal',
        'org.apache.kafka.connect.data.Date': 'date',
        'io.debezium.time.Date': 'date',
        'io.debezium.time.IsoDate': 'date',
        'org.apache.kafka.connect.data.Timestamp': 'timestamp in ms',
        'io.debezium.time.Timestamp': 'timestamp in ms',
        'io.debezium.time.MicroTimestamp': 'timestamp in us',
        'io.debezium.time.NanoTimestamp': 'timestamp in ns',
        'io.debezium.time.ZonedTimestamp': 'timestamp in us',
        'io.debezium.time.IsoTimestamp': 'timestamp without zone',
    } -%}
    map_from_entries(filter(
        transform(
            get(filter(event.schema.fields, part -> part.field in ('before', 'after')), 0).fields,
            column -> struct(column.field, struct(
                case column.name
                    {%- for schema_name, encoding in encodings.items() %}
                    when '{{ schema_name }}' then '{{ encoding }}'
                    {%- endfor %}
                    else {{ dbt_cdc._debezium_text_encoding(types) | indent(16) }}
                end as name,
                cast(column.parameters['scale'] as int) as scale
            ) as encoding)
        ),
        column -> column.encoding.name is not null
    ))
{%- endmacro %}


{#- What `types` knows of columns that the schema calls plain strings: hexadecimal binaries, and
    decimals, which may have an exponent. -#}
{% macro _debezium_text_encoding(types) -%}
    {%- set paths = {'hex': [], 'decimal text': []} -%}
    {%- for table, columns in types.items() -%}
        {%- for column, text in columns.items() -%}
            {%- set encoding = dbt_cdc._debezium_encoding(text, table ~ '.' ~ column) -%}
            {%- if encoding.name in ('decimal', 'hex') or text | lower == 'binary' -%}
                {%- set name = 'decimal text' if encoding.name == 'decimal' else 'hex' -%}
                {%- do paths[name].append(table ~ '.' ~ column) -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    case
        when column.type <> 'string' or column.name is not null then null
        {%- for name in paths if paths[name] %}
        when concat_ws('.', event.payload.source.schema, event.payload.source.table, column.field)
            in ({{ dbt_cdc._debezium_literals(paths[name]) }}) then '{{ name }}'
        {%- endfor %}
    end
{%- endmacro %}


{#- Both images, decoded. A value that was not logged is left as '__debezium_unavailable_value'. -#}
{% macro _debezium_images() -%}
    transform(array(before, after), image -> transform_values(image, (name, value) -> case
        when value is null
            then null
        when value in (
            {{ dbt_cdc._debezium_placeholders() | indent(8) }}
        )
            then {{ dbt_cdc._debezium_unavailable() }}
        when coalesce(not map_contains_key(columns, name), true)
            then value
        else transform(array(columns[name]), encoding -> coalesce(
            {{ dbt_cdc._debezium_decode() | indent(8) }},
            {{ dbt_cdc._raise_bad_record(
                "concat_ws('', 'table ', source.schema, '.', source.table, ', column ', name, "
                ~ "', event at position ', position)",
                "concat('the value ', left(value, 100), ' can not be read as ', encoding.name)",
                'say in types how the connector encodes the column'
            ) | indent(8) }}
        ))[0]
    end))
{%- endmacro %}


{#- The before image; of the tables in `before_images` its key columns only, else null. -#}
{% macro _debezium_before_image(before_images) -%}
    {%- if before_images -%}
    case
        when concat(source.schema, '.', source.table) in ({{
            dbt_cdc._debezium_literals(before_images) }})
            then get(filter(
                array(map_filter(images[0], (name, value) -> map_contains_key(
                    from_json(
                        if(get_json_object(key, '$.schema.type') = 'struct',
                            get_json_object(key, '$.payload'), key),
                        'map<string, string>'
                    ),
                    name
                ))),
                image -> cardinality(image) > 0
            ), 0)
        else images[0]
    end
    {%- else -%}
        images[0]
    {%- endif -%}
{%- endmacro %}


{#- What Debezium writes for a large value that did not change and was not logged: a text, its
    base64 and hex, and the forms of it in arrays (texts, binaries, numbers, uuids) and hstore. -#}
{% macro _debezium_placeholders() -%}
    '__debezium_unavailable_value',
    'X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==',
    '5f5f646562657a69756d5f756e617661696c61626c655f76616c7565',
    '["__debezium_unavailable_value"]',
    '["X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="]',
    '["b68a35a7-17ad-35b3-af2a-ae46edb4545a"]',
    concat('[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,',
        '95,118,97,108,117,101]'),
    '{"__debezium_unavailable_value":"__debezium_unavailable_value"}'
{%- endmacro %}
