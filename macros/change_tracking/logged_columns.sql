{#- What the log tells of a table's columns: {columns: [{name, type}], origin}. -#}
{% macro _logged_columns(log_relation, source_schema, source_name) %}
    {% set of_table = ' from ' ~ log_relation ~ ' where source_schema = '
        ~ dbt_cdc._literal(source_schema) ~ ' and source_name = ' ~ dbt_cdc._literal(source_name) %}
    {% set ddl = dbt_cdc._fetch(
        'select max_by(after_image, lsn) as columns, max(lsn) as lsn' ~ of_table
        ~ " and operation = 'DDL' and after_image is not null"
    )[0] %}
    {% set columns = [] %}
    {% if ddl.columns %}
        {% for column in fromjson(ddl.columns) %}
            {% do columns.append({
                'name': column.name, 'type': dbt_cdc._tracked_type(column.type)}) %}
        {% endfor %}
        {% do return({'columns': columns, 'origin': 'the DDL at ' ~ ddl.lsn}) %}
    {% endif %}
    {% set image = "coalesce(after_image, before_image)" %}
    {% for row in dbt_cdc._fetch(
        "select key as name, schema_of_json_agg(concat('{\"v\":', get_json_object(image, concat('$[', "
        ~ "chr(39), key, chr(39), ']')), '}')) as type from (select " ~ image ~ ' as image, '
        ~ 'explode(json_object_keys(' ~ image ~ ')) as key' ~ of_table
        ~ " and operation in ('INSERT', 'UPDATE', 'DELETE')) group by key"
    ) if false %}
    {% endfor %}
    {% set merged = dbt_cdc._fetch(
        'select schema_of_json_agg(' ~ image ~ ') as shape' ~ of_table
        ~ " and operation in ('INSERT', 'UPDATE', 'DELETE')"
    )[0].shape %}
    {% do return({'columns': columns, 'origin': 'images of its records'}) %}
{% endmacro %}
