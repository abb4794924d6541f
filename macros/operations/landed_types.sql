{#- Types of columns out of events, or of a log that has their values. -#}

{#- The Spark type of a field of an event's schema; what has no type of its own is text. -#}
{% macro _schema_type(field) %}
    {% set name, parameters = field.get('name') or '', field.get('parameters') or {} %}
    {% if name == 'org.apache.kafka.connect.data.Decimal' %}
        {% do return(dbt_cdc._spark_type('decimal(' ~ parameters.get('connect.decimal.precision', 38) ~ ','
            ~ parameters.get('scale', 0) ~ ')')) %}
    {% elif name == 'io.debezium.data.VariableScaleDecimal' %}
        {% do return('decimal(38,18)') %}
    {% elif name.endswith('Date') %}
        {% do return('date') %}
    {% elif name.endswith('Timestamp') %}
        {% do return('timestamp') %}
    {% endif %}
    {% do return({
        'int8': 'smallint', 'int16': 'smallint', 'int32': 'int', 'int64': 'bigint', 'boolean': 'boolean',
        'float': 'float', 'float32': 'float', 'double': 'double', 'float64': 'double', 'bytes': 'binary',
    }.get(field.type) or dbt_cdc._spark_type(field.get('source_type') or field.type)) %}
{% endmacro %}


{#- The schema that the log's column `encodings` was made of, without the precision of decimals; none of none. Types
    that other databases have by the same name, with other values, are text. -#}
{% macro _schema_of_encodings(encodings) %}
    {% set fields = [] %}
    {% for name, text in fromjson(encodings or '{}').items() %}
        {% set type, _, scale = text.partition('(') %}
        {% do fields.append({
            'field': name, 'type': type, 'name': type,
            'source_type': 'text' if type in ['money', 'bit', 'bit varying'] else text,
            'parameters': {'scale': scale[:-1] | int} if scale else {},
        }) %}
    {% endfor %}
    {% do return([{'field': 'after', 'fields': fields}] if fields else none) %}
{% endmacro %}


{#- The columns of the last schema, then those that only earlier ones have; a type that all values fit. -#}
{% macro _columns_of_schemas(schemas) %}
    {% set types, encodings = {}, {} %}
    {% for part in schemas | reverse | sum(start=[]) if part.field == 'after' %}
        {% for field in part.fields %}
            {% set data_type = dbt_cdc._schema_type(field) %}
            {% set other = types.get(field.field, data_type) %}
            {% do types.update({field.field:
                other if dbt_cdc._holds_type(other, data_type)
                else data_type if dbt_cdc._holds_type(data_type, other) else 'string'
            }) %}
            {#- a bigint keeps microseconds unless told otherwise -#}
            {% do encodings.update({field.field: 'time(9)'}) if field.get('name') == 'io.debezium.time.NanoTime' %}
        {% endfor %}
    {% endfor %}
    {% set columns = [] %}
    {% for name, data_type in types.items() %}
        {% do columns.append({'name': name, 'data_type': data_type, 'encoding': encodings.get(name)}) %}
    {% endfor %}
    {% do return(columns) %}
{% endmacro %}


{% macro _observed_type(row) %}
    {% set base = row.variant_type.split('(')[0] | lower %}
    {% do return('date' if row.is_date else 'timestamp' if row.is_time else 'string') if base == 'string' %}
    {% do return({
        'bigint': 'bigint', 'decimal': 'decimal(38,18)', 'boolean': 'boolean', 'double': 'double',
    }.get(base, 'string')) %}
{% endmacro %}


{#- A column as its values look: {name, data_type, encoding where they are encoded, note where it is a guess,
    shape: any where events have had no value}. Numbers of the size of times since 1990 are taken for times, small ones
    for dates where the name says so; bytes that may be a decimal have no data_type. A number with a fraction is a
    double in Debezium's events, a decimal in other logs. -#}
{% macro _landed_type(row, is_landed=true) %}
    {% set shape = row.variant_type.split('(')[0] | lower %}
    {% set column = {'name': row.name, 'shape': shape, 'data_type': dbt_cdc._observed_type(row), 'encoding': none} %}
    {% if shape.startswith('object<scale') %}
        {% do column.update(shape='bytes', data_type='decimal(38,18)', encoding='decimal') %}
    {% elif shape in ['decimal', 'double'] and is_landed %}
        {% do column.update(data_type='double') %}
    {% elif shape == 'void' %}
        {% do column.update(note='no value seen', shape='any' if is_landed else shape) %}
    {% elif shape == 'bigint' %}
        {% for unit, encoding in {1: 'timestamp(3)', 1000: 'timestamp(6)', 1000000: 'timestamp(9)'}.items()
            if row.least >= 631152000000 * unit and row.most <= 4102444800000 * unit %}
            {% do column.update(data_type='timestamp', encoding=encoding, note='guessed from its numbers') %}
        {% endfor %}
        {% set is_named_so = modules.re.search('(?i)(?<!up)date$|^date_|birth|^dob$|(^|_)day$|_on$', row.name) %}
        {% do column.update(data_type='date', encoding='date', note='guessed from its name')
            if is_named_so and row.least >= -36525 and row.most <= 47482 and (row.least < -365 or row.most > 365) %}
    {% elif column.data_type == 'string' and row.is_base64 %}
        {% do column.update(shape='bytes') %}
        {% if row.has_padding %}
            {% do column.update(data_type=none if row.is_number else 'binary') %}
        {% else %}
            {% set what = 'a number' if row.is_number else 'bytes' %}
            {% do column.update(note='guessed: it may be ' ~ what ~ ' in base64') %}
        {% endif %}
    {% endif %}
    {% do return(column) %}
{% endmacro %}
