{#- A SQL string literal. Spark reads backslash escapes in literals. -#}
{% macro _literal(text) -%}
    {%- if text is none -%}
        cast(null as string)
    {%- else -%}
        '{{ (text | string).replace('\\', '\\\\').replace("'", "\\'")
            .replace('\n', '\\n').replace('\r', '\\r') }}'
    {%- endif -%}
{%- endmacro %}


{#- Literals with commas between them. -#}
{% macro _literals(texts) -%}
    {%- for text in texts %}{{ dbt_cdc._literal(text) }}{{ ', ' if not loop.last }}{% endfor -%}
{%- endmacro %}


{#- What `values` (text -> SQL) has for an expression, NULL for others. -#}
{% macro _case_of(expression, values) -%}
    case {{ expression }}
        {%- for text, value in values.items() %}
        when {{ dbt_cdc._literal(text) }} then {{ value }}
        {%- endfor %}
    end
{%- endmacro %}


{#- A quoted column name. No escape writes a line break there, so SQL around one is not indented. -#}
{% macro _column(name) -%}
    {%- if '\n' in name %}{% do dbt_cdc._invocation_cache().update(keep_lines=true) %}{% endif -%}
    `{{ name.replace('`', '``') }}`
{%- endmacro %}


{#- Indents all lines of a text but the first. -#}
{% macro _indent(text, width) -%}
    {%- set keep_lines = dbt_cdc._invocation_cache().get('keep_lines') -%}
    {{ text | trim if keep_lines else text | trim | indent(width) }}
{%- endmacro %}
