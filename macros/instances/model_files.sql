{#- The text of a capture instance's two files. -#}
{% macro _model_files(node, origin, file) %}
    {% if file not in [none, 'sql', 'yaml'] %}
        {% do dbt_cdc.raise_cdc_error(
            22963, "file is '" ~ file ~ "'", 'it is sql or yaml; leave it out for both'
        ) %}
    {% endif %}
    {% set body = '{' ~ '{ dbt_cdc.change_table() }' ~ '}' %}
    {% set yaml = dbt_cdc._model_yaml(node, origin) %}
    {% if file %}
        {% do return(body if file == 'sql' else yaml) %}
    {% endif %}
    {% do return(
        '-- models/' ~ node.name ~ '.sql\n' ~ body ~ '\n\n# models/' ~ node.name ~ '.yml\n' ~ yaml
    ) %}
{% endmacro %}


{% macro _model_yaml(node, origin) %}
    {% set lines = ['version: 2', '', 'models:', '  - name: ' ~ node.name,
        '    data_tests: [dbt_cdc.capture_checks]', '    config:', '      meta:', '        cdc:'] %}
    {% for key, value in node.config.meta.cdc.items() %}
        {% do lines.append('          ' ~ key ~ ': ' ~ (
            dbt_cdc._yaml_list(value) if key == 'index_columns'
            else dbt_cdc._yaml_text(value) if value is string else value | string | lower
        )) %}
    {% endfor %}
    {% do lines.append('    columns:  # from ' ~ origin) %}
    {% do lines.extend(dbt_cdc._yaml_columns(node.columns)) %}
    {% do return(lines | join('\n')) %}
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


{% macro _yaml_list(texts) %}
    {% set items = [] %}
    {% for text in texts %}
        {% do items.append(dbt_cdc._yaml_text(text)) %}
    {% endfor %}
    {% do return('[' ~ items | join(', ') ~ ']') %}
{% endmacro %}
