{#- Run-operation: prints the columns of a source table as the log has them, captured or not. -#}
{% macro get_source_columns(source_schema, source_name) %}
    {% if execute %}
        {% do dbt_cdc._check_source_given(source_schema, source_name) %}
        {% set source = dbt_cdc._source_columns(source_schema, source_name) %}
        {% set rows = [] %}
        {% for column in source.columns %}
            {% do rows.append({
                'column_id': dbt_cdc._column_meta(column).get('column_id', loop.index), 'column_name': column.name,
                'source_type': column.get('source_type'), 'data_type': column.data_type,
            }) %}
        {% endfor %}
        {% do dbt_cdc._print_rows(rows) %}
        {% do log('from ' ~ source.origin, info=true) %}
    {% endif %}
{% endmacro %}
