{#- An image as the source wrote it, without the values that were not logged. -#}
{% macro _debezium_image(image) -%}
case when has_unavailable
    then regexp_replace(
        regexp_replace({{ image }}, concat(',', unavailable, '(?=[,}])'), ''),
        concat('^\\{', unavailable, '(?:,|(?=\\}))'), '{'
    )
    else {{ image }}
end
{%- endmacro %}


{#- The pattern of a member of an image whose value is one of the placeholders. -#}
{% macro _debezium_unavailable(placeholder) -%}
    {%- set values = dbt_cdc._debezium_placeholders(placeholder).values() | join('|') -%}
    {{ dbt_cdc._literal('"[^"\\\\]*+(?:\\\\.[^"\\\\]*+)*+":(?:' ~ values ~ ')') }}
{%- endmacro %}


{#- Whether the JSON parser's copy of an image may lack digits: it reads a number with a fraction as a double. Looked
    at where the copy is not in the event as it is. -#}
{% macro _debezium_is_rounded() -%}
not (contains(value, coalesce(before, '')) and contains(value, coalesce(after, '')))
and exists(
    regexp_extract_all(value, '[:,\\[]\\s*-?((?=[0-9]*[.])[0-9.]{17,}(?:[eE][-+]?[0-9]+)?)', 1),
    number -> not contains(concat_ws(' ', before, after), number) and {# -#}
    {{ dbt_cdc._significant_digits('number') }} <> {# -#}
    {{ dbt_cdc._significant_digits('cast(cast(number as double) as string)') }}
)
{%- endmacro %}


{#- The digits of a number's text, without the zeros at its ends, its point and its exponent. -#}
{% macro _significant_digits(number) -%}
regexp_replace({{ number }}, '^[0.]+|[0.]*(?:[eE].*)?\\z|[.]', '')
{%- endmacro %}


{#- The before image; of the tables in `before_images` the event's key. -#}
{% macro _debezium_before_image(before_images) -%}
    {%- if before_images -%}
case
    when before is null or concat(coalesce(source.schema, source.db), '.', source.table) not in (
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


{% macro _debezium_placeholder(batch) %}
    {% do return(batch.get('placeholder') or '__debezium_unavailable_value') %}
{% endmacro %}


{#- What Debezium writes for a large value that did not change and was not logged: a text, its base64 and hex, and
    the forms of it in hstore and in arrays, of numbers and decimals an element for each byte. What to look for ->
    pattern of the JSON. -#}
{% macro _debezium_placeholders(placeholder) %}
    {% set text, bytes, md5 = modules.re.escape(placeholder), placeholder.encode('ascii'), local_md5(placeholder) %}
    {% set uuid = [md5[:8], md5[8:12], '3' ~ md5[13:16], '89ab'[md5[16] | int(base=16) % 4] ~ md5[17:20], md5[20:]] %}
    {% set found = {
        placeholder: '"T"|\\["T"\\]|\\{"T":"T"\\}|"\\{\\\\"T\\\\":\\\\"T\\\\"\\}"'.replace('T', text),
        dbt_cdc._base64(bytes): '"T"|\\["T"\\]'.replace('T', modules.re.escape(dbt_cdc._base64(bytes))),
        bytes.hex(): '"' ~ bytes.hex() ~ '"',
        uuid | join('-'): '\\["' ~ uuid | join('-') ~ '"\\]',
    } %}
    {#- of geometry and geography, in newer versions: points that no map has -#}
    {% for wkb in ['AQEAACDmEAAAAAAA/IPXl8EAAAD8g9eXwQ==', 'AQEAACDmEAAADCHn/f9/ZkAYQs77/39WQA=='] %}
        {% do found.update({wkb: '\\{[^{}]*"' ~ modules.re.escape(wkb) ~ '"[^{}]*\\}'}) %}
    {% endfor %}
    {% for form in ['N', 'N.0', '"N"', '{"scale":0,"value":"B"}'] %}
        {% set elements = [] %}
        {% for byte in bytes[:12] %}
            {% do elements.append(
                form.replace('N', byte | string).replace('B', dbt_cdc._base64(bytes[loop.index0:loop.index]))) %}
        {% endfor %}
        {% set start = '[' ~ elements | join(',') %}
        {% do found.update({start: modules.re.escape(start) ~ '[^\\]]*\\]'}) %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{% macro _base64(bytes) %}
    {% set signs, text = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/', [] %}
    {% for start in range(0, bytes | length, 3) %}
        {% set part = bytes[start:start + 3] %}
        {% set number = (part.hex() ~ '0000')[:6] | int(base=16) %}
        {% for place in range(part | length + 1) %}
            {% do text.append(signs[number // 64 ** (3 - place) % 64]) %}
        {% endfor %}
        {% do text.append('=' * (3 - part | length)) %}
    {% endfor %}
    {% do return(text | join) %}
{% endmacro %}


{#- Whether an event, or another text, holds one of them. -#}
{% macro _debezium_has_unavailable(placeholder, text='images') -%}
    {%- for value in dbt_cdc._debezium_placeholders(placeholder) -%}
    {{ ' or ' if not loop.first }}contains({{ text }}, {{ dbt_cdc._literal(value) }})
    {%- endfor -%}
{%- endmacro %}
