{#- The text of a capture instance's two files. -#}
{% macro _model_files(node, origin, file) %}
    {% do dbt_cdc.raise_cdc_error(
        22963, "file is '" ~ file ~ "'", 'it is sql or yaml; leave it out for both'
    ) if file not in [none, 'sql', 'yaml'] %}
    {% set body = '{' ~ '{ dbt_cdc.change_table() }' ~ '}' %}
    {% set yaml = dbt_cdc._model_yaml(node, origin) %}
    {% do return(body if file == 'sql' else yaml) if file %}
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
