{#- A SQL string literal. Spark reads backslash escapes in literals, and puts variables in the place of ${...} before.
    Of whatever ends a line in Unicode Jinja's indent makes a \n. -#}
{% macro _literal(text) -%}
    {%- if text is none -%}
        cast(null as string)
    {%- else -%}
        {%- set escaped = namespace(text=(text | string).replace('\\', '\\\\').replace("'", "\\'")
            .replace('\n', '\\n').replace('\r', '\\r').replace('${', '$\\{')) -%}
        {%- set has_end = escaped.text.splitlines() != [escaped.text] -%}
        {%- for end in '\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029' if has_end -%}
            {%- set escaped.text = escaped.text.replace(end, '\\u' ~ end.encode('utf-16-be').hex()) -%}
        {%- endfor -%}
        '{{ escaped.text }}'
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
    {%- if name.splitlines() != [name] %}{% do dbt_cdc._invocation_cache().update(keep_lines=true) %}{% endif -%}
    `{{ name.replace('`', '``') }}`
{%- endmacro %}


{#- SQL of a model that somebody writes, as it is: around a text or name with a line break in it nothing is indented. -#}
{% macro _as_written(sql) %}
    {% for part in modules.re.findall(dbt_cdc._texts_and_names(), sql) if part[:2] != '/*'
        and part.rstrip('\r').splitlines() != [part.rstrip('\r')] %}
        {% do dbt_cdc._invocation_cache().update(keep_lines=true) %}
    {% endfor %}
    {% do return(sql) %}
{% endmacro %}


{#- The pattern of what is no SQL in SQL: comments, texts, quoted names. -#}
{% macro _texts_and_names() %}
    {% do return("(?si)--[^\n]*|/[*].*?[*]/|\\br(?:'[^']*'|\"[^\"]*\")|'(?:\\\\.|[^'\\\\])*'|"
        ~ "\"(?:\\\\.|[^\"\\\\])*\"|`[^`]*`") %}
{% endmacro %}


{#- Column names, each quoted. -#}
{% macro _quoted(names) %}
    {% set quoted = [] %}
    {% for name in names %}
        {% do quoted.append(dbt_cdc._column(name)) %}
    {% endfor %}
    {% do return(quoted) %}
{% endmacro %}


{#- Indents all lines of a text but the first. -#}
{% macro _indent(text, width) -%}
    {%- set keep_lines = dbt_cdc._invocation_cache().get('keep_lines') -%}
    {{ text | trim if keep_lines else text | trim | indent(width) }}
{%- endmacro %}


{#- SQL of several parts in lines of at most 100 characters, where the text is indented by `width`: a comma
    ends a line, an operator begins it. `taken` are characters before it. -#}
{% macro _flow(parts, separator, width, taken=0) -%}
    {%- set lines = [''] -%}
    {%- for part in parts -%}
        {%- if separator == ', ' -%}
            {%- set part = part ~ (',' if not loop.last else '') -%}
        {%- elif not loop.first -%}
            {%- set part = separator.lstrip() ~ part -%}
        {%- endif -%}
        {%- set part = dbt_cdc._broken(part, 100 - width) -%}
        {%- set line = lines.pop() -%}
        {%- set room = 99 - width - (0 if lines else taken) -%}
        {%- if line and ((line ~ part) | length > room or '\n' in line ~ part) -%}
            {%- do lines.extend([line, part]) -%}
        {%- else -%}
            {%- do lines.append(line ~ ' ' ~ part if line else part) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ dbt_cdc._indent(lines | join('\n'), width) }}
{%- endmacro %}


{#- A comparison in two lines, where it has no room in one. -#}
{% macro _broken(text, room) %}
    {% for operator in ['<=> ', 'rlike '] if text | length > room and '\n' not in text and text.count(' ' ~ operator) == 1 %}
        {% do return(text.replace(' ' ~ operator, '\n    ' ~ operator)) %}
    {% endfor %}
    {% do return(text) %}
{% endmacro %}
