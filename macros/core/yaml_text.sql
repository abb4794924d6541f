{#- A YAML scalar that is read as this text: bare where it can be nothing else. -#}
{% macro _yaml_text(text) %}
    {% set words = ['true', 'false', 'yes', 'no', 'on', 'off', 'y', 'n', 'null'] %}
    {% if modules.re.fullmatch('[A-Za-z_][A-Za-z0-9_]*', text) and text | lower not in words %}
        {% do return(text) %}
    {% elif modules.re.search('[\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029]', text) %}
        {% do return(tojson(text)) %}
    {% endif %}
    {% do return("'" ~ text.replace("'", "''") ~ "'") %}
{% endmacro %}


{#- An argument of a command, in the shell's quotes. -#}
{% macro _shell_text(text) %}
    {% do return("'" ~ text.replace("'", "'\\''") ~ "'") %}
{% endmacro %}


{% macro _yaml_list(texts) %}
    {% set items = [] %}
    {% for text in texts %}
        {% do items.append(dbt_cdc._yaml_text(text)) %}
    {% endfor %}
    {% do return('[' ~ items | join(', ') ~ ']') %}
{% endmacro %}


{% macro _yaml_columns(columns) %}
    {% set lines = [] %}
    {% for column in columns %}
        {% set meta = dbt_cdc._column_meta(column) %}
        {% set is_plain = modules.re.fullmatch('[A-Za-z_][A-Za-z0-9_]*', column.name) is not none %}
        {% do lines.append(
            '      - {name: ' ~ dbt_cdc._yaml_text(column.name) ~ ', data_type: '
            ~ dbt_cdc._yaml_text(column.data_type) ~ ('' if is_plain else ', quote: true')
            ~ (', config: ' ~ tojson({'meta': meta}) if meta) ~ '}'
            ~ ('  # ' ~ column.note if column.note else '')
        ) %}
    {% endfor %}
    {% do return(lines) %}
{% endmacro %}
