{#- An image as the source wrote it, without the values that were not logged. -#}
{% macro _debezium_image(image) -%}
    {%- set values = dbt_cdc._debezium_placeholders().values() | join('|') -%}
    {%- set member = '"[^"\\\\]*+(?:\\\\.[^"\\\\]*+)*+":(?:' ~ values ~ ')' -%}
case when has_unavailable
    then regexp_replace(
        regexp_replace({{ image }}, {{ dbt_cdc._literal(',' ~ member ~ '(?=[,}])') }}, ''),
        {{ dbt_cdc._literal('^\\{' ~ member ~ '(?:,|(?=\\}))') }}, '{'
    )
    else {{ image }}
end
{%- endmacro %}


{#- Whether the JSON parser's copy of an image may lack digits: it reads a number with a fraction as a double. Looked
    at where the copy is not in the event as it is. -#}
{% macro _debezium_is_rounded() -%}
not (contains(value, coalesce(before, '')) and contains(value, coalesce(after, '')))
and exists(
    regexp_extract_all(value, '[:,\\[]\\s*-?((?=[0-9]*[.])[0-9.]{17,}(?:[eE][-+]?[0-9]+)?)', 1),
    number -> not contains(concat_ws(' ', before, after), number) and (
        length(number) > 30
        or not try_cast(number as decimal(38, 18))
        <=> try_cast(try_cast(number as double) as decimal(38, 18))
    )
)
{%- endmacro %}


{#- The before image; of the tables in `before_images` the event's key. -#}
{% macro _debezium_before_image(before_images) -%}
    {%- if before_images -%}
case
    when before is null or concat(source.schema, '.', source.table) not in (
        {{ dbt_cdc._literals(before_images) }}
    ) then before
    when get_json_object(key, '$.schema.type') = 'struct' then get_json_object(key, '$.payload')
    else key
end
    {%- else -%} before
    {%- endif -%}
{%- endmacro %}


{#- The types that an event with a schema tells of its columns, as JSON: name, or type, and scale. -#}
{% macro _debezium_encodings() -%}
case when value_schema is not null then to_json(map_from_entries(transform(
    get(filter(value_schema, part -> part.field in ('before', 'after') and part.fields is not null), 0).fields,
    column -> struct(
        column.field,
        concat(coalesce(column.name, column.type), coalesce(concat('(', column.parameters.scale, ')'), ''))
    )
))) end
{%- endmacro %}


{#- What Debezium writes for a large value that did not change and was not logged: a text, its base64 and hex, and
    the forms of it in arrays (texts, binaries, numbers, uuids) and hstore. What to look for -> pattern of the JSON. -#}
{% macro _debezium_placeholders() %}
    {% set text, base64 = '__debezium_unavailable_value', 'X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==' %}
    {% set hex, uuid = '5f5f646562657a69756d5f756e617661696c61626c655f76616c7565', 'b68a35a7-17ad-35b3-af2a-ae46edb4545a' %}
    {% do return({
        text: '"T"|\\["T"\\]|\\{"T":"T"\\}|"\\{\\\\"T\\\\":\\\\"T\\\\"\\}"'.replace('T', text),
        base64: '"T"|\\["T"\\]'.replace('T', base64),
        hex: '"' ~ hex ~ '"',
        uuid: '\\["' ~ uuid ~ '"\\]',
        '[95,95,100,101,98,101,122,105,117,109,95,': '\\[95,95,100,101,98,101,122,105,117,109,95,[0-9,]+\\]',
    }) %}
{% endmacro %}


{#- Whether an event holds one of them. -#}
{% macro _debezium_has_unavailable() -%}
    {%- for text in dbt_cdc._debezium_placeholders() -%}
    {{ ' or ' if not loop.first }}contains(images, '{{ text }}')
    {%- endfor -%}
{%- endmacro %}
