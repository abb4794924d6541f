{#- Lists of columns as SQL Server's procedures take them: 'a, "b c", [d]', or a YAML list. -#}
{% macro _split_columns(text, setting) %}
    {% do return(none if text is none else dbt_cdc._checked_names(setting, text)) if text is not string %}
    {% set names = [] %}
    {% set rest = {'text': text.strip()} %}
    {% for step in range(text | length + 1) if rest.text %}
        {% set found = modules.re.match(
            '(?s)(?:"((?:[^"]|"")+)"|\\[((?:[^\\]]|\\]\\])+)\\]|([^,"\\[\\s][^,"]*?))\\s*(?:,\\s*|$)', rest.text
        ) %}
        {% do dbt_cdc.raise_cdc_error(
            22965, "the column list cannot be read from '" ~ rest.text ~ "' on",
            'separate names by commas, close each " and [; or give a YAML list'
        ) if not found %}
        {% do names.append(
            (found[1] or '').replace('""', '"') or (found[2] or '').replace(']]', ']') or found[3]
        ) %}
        {% do rest.update(text=rest.text[found.end():]) %}
    {% endfor %}
    {% do return(names) %}
{% endmacro %}


{#- The listed columns of the source, in its order. -#}
{% macro _chosen_columns(meta, columns, captured_column_list) %}
    {% set wanted = dbt_cdc._split_columns(captured_column_list, 'captured_column_list') %}
    {% do return(columns) if wanted is none %}
    {% set names = columns | map(attribute='name') | list %}
    {% set wanted = dbt_cdc._as_spelled(wanted, columns) %}
    {% for name in wanted if name not in names %}
        {% do dbt_cdc.raise_cdc_error(
            22930, "column '" ~ name ~ "' of captured_column_list is no column of table "
            ~ meta.source_schema ~ '.' ~ meta.source_name, 'it has ' ~ names | join(', ')
        ) %}
    {% endfor %}
    {% do return(columns | selectattr('name', 'in', wanted) | list) %}
{% endmacro %}
