{#- A SQL string literal. Spark reads backslash escapes in literals. -#}
{% macro _literal(text) -%}
    {%- if text is none -%}
        cast(null as string)
    {%- else -%}
        '{{ (text | string).replace('\\', '\\\\').replace("'", "\\'")
            .replace('\n', '\\n').replace('\r', '\\r') }}'
    {%- endif -%}
{%- endmacro %}


{#- A quoted column name. -#}
{% macro _column(name) -%}
    `{{ name.replace('`', '``') }}`
{%- endmacro %}


{#- Indents all lines of a text but the first. -#}
{% macro _indent(text, width) -%}
    {{ text | trim | indent(width) }}
{%- endmacro %}
