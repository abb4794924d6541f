{#- The test that tells whether the JSON parser has read an image without loss: true, or else false or
    NULL. It may fail where nothing was lost, never the other way round. `text` is the image without
    blanks behind its keys. -#}

{#- Keys inside nested values would look like columns. -#}
{% macro _is_exact(columns) -%}
    is_json
    and image is not null
    and text is not null
    and not ((contains(text, ':{') or contains(text, ':[')) and text rlike '(?<!\\\\)":[{\\[]')
    {%- for column in columns %}
    and {{ dbt_cdc._is_exact_value(column) }}
    {%- endfor %}
{%- endmacro %}


{#- A null may be an absent key or a value that did not fit: it counts where it is spelled out. -#}
{% macro _is_exact_value(column) -%}
    {%- set value = 'image.' ~ dbt_cdc._column(column.name) -%}
    {%- set data_type = column.data_type | lower | trim -%}
    {%- set key = '"' ~ column.name.replace('\\', '\\\\').replace('"', '\\"') ~ '":' -%}
    ({{ dbt_cdc['_is_exact_' ~ dbt_cdc._type_family(data_type)](value, key, data_type) }}
        or contains(text, {{ dbt_cdc._literal(key ~ 'null') }}))
{%- endmacro %}


{% macro _is_exact_boolean(value, key, data_type) -%} {{ value }} is not null {%- endmacro %}


{#- The parser refuses what does not fit an int or a bigint; it knows no smaller ones. -#}
{% macro _is_exact_integer(value, key, data_type) -%}
    {%- set sizes = {'tinyint': 7, 'byte': 7, 'smallint': 15, 'short': 15} -%}
    {%- if data_type in sizes -%}
        {{ value }} between {{ -2 ** sizes[data_type] }} and {{ 2 ** sizes[data_type] - 1 }}
    {%- else -%}
        {{ value }} is not null
    {%- endif -%}
{%- endmacro %}


{% macro _is_exact_float(value, key, data_type) -%}
    substr({{ value }}, -1) <= '9'
    and abs({{ dbt_cdc._text_value(value, data_type) }}) < cast('Infinity' as {{ data_type }})
{%- endmacro %}


{#- The parser rounds to the scale in silence. Most writers fill the scale; a pattern finds the others. -#}
{% macro _is_exact_decimal(value, key, data_type) -%}
    {%- set scale = dbt_cdc._type_size(data_type, 1) -%}
    {%- set pattern = modules.re.escape(key) ~ '"?-?[0-9]+([.][0-9]{0,' ~ scale ~ '}0*)?"?\\s*[,}]' -%}
    {{ value }} is not null and (
        contains(text, concat({{ dbt_cdc._literal(key ~ '"') }}, cast({{ value }} as string), '"'))
        or text rlike {{ dbt_cdc._literal(pattern) }}
    )
{%- endmacro %}


{#- Anything but a string is written anew by the parser, a number with a fraction as a double. -#}
{% macro _is_exact_string(value, key, data_type) -%}
    (
        contains(text, {{ dbt_cdc._literal(key ~ '"') }})
        or {{ value }} rlike '^(-?[1-9][0-9]*|true|false)$'
        or {{ value }} = '0' and not contains(text, {{ dbt_cdc._literal(key ~ '-') }})
    )
{%- endmacro %}


{% macro _is_exact_text(value, key, data_type) -%}
    {{ dbt_cdc._is_exact_string(value, key, data_type) }}
    and char_length({{ 'rtrim(' ~ value ~ ')' if data_type.startswith('char') else value }})
    <= {{ dbt_cdc._type_size(data_type) }}
{%- endmacro %}


{% macro _is_exact_binary(value, key, data_type) -%}
    contains(text, concat({{ dbt_cdc._literal(key ~ '"') }}, base64({{ value }}), '"'))
{%- endmacro %}


{#- The parser takes more than days for a date, and numbers and times of day for a timestamp. -#}
{% macro _is_exact_date(value, key, data_type) -%}
    contains(text, concat({{ dbt_cdc._literal(key ~ '"') }}, cast({{ value }} as string), '"'))
{%- endmacro %}


{% macro _is_exact_timestamp(value, key, data_type) -%}
    {{ value }} is not null
    and text rlike {{ dbt_cdc._literal(modules.re.escape(key) ~ '"[0-9]{4}-[0-9]{2}-') }}
{%- endmacro %}
