{#- Prints rows (dictionaries with the same keys) as a table of text. -#}
{% macro _print_rows(rows) %}
    {% if not rows %}
        {% do log('(no rows)', info=true) %}
        {% do return(none) %}
    {% endif %}
    {% set lines = [rows[0].keys() | list] %}
    {% for row in rows %}
        {% set texts = [] %}
        {% for value in row.values() %}
            {% do texts.append('NULL' if value is none else value | string) %}
        {% endfor %}
        {% do lines.append(texts) %}
    {% endfor %}
    {% set widths = [] %}
    {% for place in range(lines[0] | length) %}
        {% do widths.append(lines | map(attribute=place) | map('length') | max) %}
    {% endfor %}
    {% set printed = [] %}
    {% for line in lines %}
        {% set cells = [] %}
        {% for text in line %}
            {% do cells.append(('%-' ~ widths[loop.index0] ~ 's') | format(text)) %}
        {% endfor %}
        {% do printed.append(cells | join('  ') | trim) %}
    {% endfor %}
    {% do log(printed | join('\n'), info=true) %}
{% endmacro %}
