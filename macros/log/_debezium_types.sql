{#- Refuses what the adapter does not know, naming what it knows. -#}
{% macro _debezium_check_arguments(connector, types, before_images) %}
    {% if connector != 'postgresql' %}
        {% do exceptions.raise_compiler_error(
            "debezium_log: connector '" ~ connector ~ "' is not supported; supported: 'postgresql'"
        ) %}
    {% endif %}
    {% do dbt_cdc._debezium_check_tables('types', types) %}
    {% do dbt_cdc._debezium_check_tables('before_images', before_images) %}
    {% for table, columns in (types or {}).items() %}
        {% if columns is not mapping %}
            {% do exceptions.raise_compiler_error(
                "debezium_log: types['" ~ table ~ "'] is '" ~ columns
                ~ "'; give column names and their encodings, e.g. {'birth': 'date'}"
            ) %}
        {% endif %}
        {% for column, encoding in columns.items() %}
            {% do dbt_cdc._debezium_encoding(encoding, table ~ '.' ~ column) %}
        {% endfor %}
    {% endfor %}
    {% for table, content in (before_images or {}).items() if content != 'key' %}
        {% do exceptions.raise_compiler_error(
            "debezium_log: before_images['" ~ table ~ "'] is '" ~ content ~ "'; allowed: 'key'"
        ) %}
    {% endfor %}
{% endmacro %}


{% macro _debezium_check_tables(argument, tables) %}
    {% if tables is not none and tables is not mapping %}
        {% do exceptions.raise_compiler_error(
            'debezium_log: ' ~ argument ~ " is not a dictionary by 'schema.table'"
        ) %}
    {% endif %}
    {% for table in tables or {} if '.' not in table | string %}
        {% do exceptions.raise_compiler_error(
            'debezium_log: ' ~ argument ~ " names '" ~ table ~ "'; tables are named 'schema.table'"
        ) %}
    {% endfor %}
{% endmacro %}


{#- How the adapter calls an encoding: 'decimal(18,4)' -> {name: 'decimal', scale: 4}. -#}
{% macro _debezium_encoding(text, column) %}
    {% set match = modules.re.match(
        '^(?:decimal\\(\\s*\\d+\\s*(?:,\\s*(\\d+)\\s*)?\\)|(date|binary)'
        ~ '|timestamp(?:\\(([0-6])\\))?|binary\\((hex|base64)\\))$',
        text | string | lower | trim
    ) %}
    {% if not match %}
        {% do exceptions.raise_compiler_error(
            'debezium_log: types says ' ~ column ~ " is '" ~ text ~ "'; allowed: decimal(p,s), "
            ~ 'date, timestamp(0) to timestamp(6), binary, binary(hex), binary(base64)'
        ) %}
    {% endif %}
    {% set scale, word, digits, spelling = match.groups() %}
    {% if spelling or word == 'binary' %}
        {% do return({'name': spelling or 'base64', 'scale': 0}) %}
    {% elif word %}
        {% do return({'name': word, 'scale': 0}) %}
    {% elif text | string | trim | lower | first == 'd' %}
        {% do return({'name': 'decimal', 'scale': (scale or 0) | int}) %}
    {% endif %}
    {% set unit = 'ms' if digits and digits | int <= 3 else 'us' %}
    {% do return({'name': 'timestamp in ' ~ unit, 'scale': 0}) %}
{% endmacro %}


{#- Without `types`: the binary columns that capture instances declare, which an event's schema
    can't tell from texts when binary.handling.mode is hex. -#}
{% macro _debezium_declared_types() %}
    {% set types = {} %}
    {% set nodes = graph.nodes.values() if execute else [] %}
    {% for node in nodes if node.resource_type == 'model' %}
        {% set source = (node.config.meta or {}).get('cdc') or {} %}
        {% for column in node.columns.values()
            if source.get('source_schema') and (column.data_type or '') | lower == 'binary' %}
            {% set table = source.source_schema ~ '.' ~ source.source_name %}
            {% do types.setdefault(table, {}).update({column.name: 'binary'}) %}
        {% endfor %}
    {% endfor %}
    {% do return(types) %}
{% endmacro %}
