{#- What the log tells of a table's columns: {columns: [{name, type}], origin}. -#}
{% macro _logged_columns(log_relation, source_schema, source_name) %}
    {% set of_table = ' from ' ~ log_relation ~ ' where source_schema = '
        ~ dbt_cdc._literal(source_schema) ~ ' and source_name = ' ~ dbt_cdc._literal(source_name) %}
    {% set ddl = dbt_cdc._fetch(
        'select max_by(after_image, lsn) as columns, max(lsn) as lsn' ~ of_table
        ~ " and operation = 'DDL' and after_image is not null"
    )[0] %}
    {% if ddl.columns %}
        {% set columns = [] %}
        {% for column in fromjson(ddl.columns) %}
            {% do columns.append({
                'name': column.name, 'type': dbt_cdc._type_of_source(column.type)}) %}
        {% endfor %}
        {% do return({'columns': columns, 'origin': 'the DDL at ' ~ ddl.lsn}) %}
    {% endif %}
    {% set images = dbt_cdc._fetch(
        'select coalesce(after_image, before_image) as image' ~ of_table
        ~ " and operation in ('INSERT', 'UPDATE', 'DELETE') order by lsn desc limit 100"
    ) | map(attribute='image') | list %}
    {% do return({
        'columns': dbt_cdc._columns_of_images(images),
        'origin': 'the last ' ~ images | length ~ ' records of the log: check their types',
    }) %}
{% endmacro %}


{#- The keys of JSON objects in the order of the first one, each with a type that holds its values.
    -#}
{% macro _columns_of_images(images) %}
    {% set types = {} %}
    {% for image in images if image %}
        {% for name, value in (fromjson(image) or {}).items() %}
            {% set seen = types.setdefault(name, []) %}
            {% if value is boolean %}
                {% do seen.append('boolean') %}
            {% elif value is integer %}
                {% do seen.append('int' if -2147483648 <= value <= 2147483647 else 'bigint') %}
            {% elif value is number %}
                {% do seen.append('double') %}
            {% elif value is not none %}
                {% do seen.append('string') %}
            {% endif %}
        {% endfor %}
    {% endfor %}
    {% set columns = [] %}
    {% for name, seen in types.items() %}
        {% set kinds = seen | unique | sort | list %}
        {% do columns.append({'name': name, 'type':
            kinds[0] if kinds | length == 1
            else 'bigint' if kinds == ['bigint', 'int']
            else 'double' if kinds and 'string' not in kinds and 'boolean' not in kinds
            else 'string'
        }) %}
    {% endfor %}
    {% do return(columns) %}
{% endmacro %}


{#- A Spark type that holds the values of a source type; what is not known is kept as text. -#}
{% macro _type_of_source(source_type) %}
    {% set text = modules.re.sub('\\s+', '', source_type | string | lower) %}
    {% for pattern, data_type in {
        'n?varchar\\(max\\)|n?text|uuid|uniqueidentifier|json.*|xml': 'string',
        'n?varchar\\((\\d+)\\)|charactervarying\\((\\d+)\\)': 'string',
        'n?char.*|bpchar.*': 'string',
        '(bool(ean)?|bit)': 'boolean',
        '(tinyint|smallint|int2)': 'smallint',
        '(int|integer|int4|serial)': 'int',
        '(bigint|int8|bigserial)': 'bigint',
        '(real|float4)': 'float',
        '(float.*|double.*)': 'double',
        'money': 'decimal(19,4)',
        '(binary|varbinary|bytea|image|rowversion).*': 'binary',
        'date': 'date',
        '(datetime|smalldatetime|timestamp).*': 'timestamp',
    }.items() if modules.re.fullmatch(pattern, text) %}
        {% do return(data_type) %}
    {% endfor %}
    {% set size = modules.re.fullmatch('(decimal|dec|numeric)\\((\\d+)(,(\\d+))?\\)', text) %}
    {% do return(
        'decimal(' ~ size[2] ~ ',' ~ (size[4] or 0) ~ ')' if size and size[2] | int <= 38 else 'string') %}
{% endmacro %}
