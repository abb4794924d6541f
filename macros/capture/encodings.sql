{#- The encodings of values that JSON does not tell: decimals as bytes, times as numbers, hexadecimal binaries.
    A column's encoding is what the log's records say of themselves in a column `encodings` (JSON, column to type),
    else what its YAML says (`meta.source_type`), else what `types` of the log's adapter says. A column without
    one is read as docs/log.md has it. -#}

{#- The instance (or tracked table) with `encodings` of its columns: [{name, ..., texts}]. There are several
    where the window's records differ; `texts` are then the log's `encodings` that it stands for. -#}
{% macro _with_encodings(instance, window) %}
    {% set columns = [] %}
    {% set of_log = dbt_cdc._encodings_of_log(window).get(instance.table, []) %}
    {% set types = (dbt_cdc._adapter_types() or {}).get(instance.table, {}) %}
    {% for column in instance.columns %}
        {% set found = {} %}
        {% set given = dbt_cdc._column_meta(column).get('source_type') or types.get(column.name) %}
        {% for text in of_log or [none] %}
            {% set encoding = dbt_cdc._encoding_of(column, given, fromjson(text or '{}').get(column.name)) %}
            {% do found.setdefault(tojson(encoding), dict(encoding, texts=[])).texts.append(text) %}
        {% endfor %}
        {% set encodings = found.values() | list %}
        {% do columns.append(dict(
            column, encodings=encodings if encodings | length > 1 or encodings[0].name else []
        )) %}
    {% endfor %}
    {% do return(dict(instance, columns=columns, has_encodings=of_log | length > 1)) %}
{% endmacro %}


{#- The argument `types` of the adapters in this project, each of which leaves it in its model's meta; none
    without an adapter. -#}
{% macro _adapter_types() %}
    {% set cache = dbt_cdc._invocation_cache() %}
    {% if 'adapter_types' not in cache %}
        {% set found = namespace(types=none) %}
        {% set nodes = [] if dbt_cdc._is_unit_test() else graph.nodes.values() %}
        {% for node in nodes if node.resource_type == 'model' %}
            {% set types = (node.config.meta or {}).get('cdc_source_types') %}
            {% set found.types = dict(found.types or {}, **types) if types is mapping else found.types %}
        {% endfor %}
        {% do cache.update(adapter_types=found.types) %}
    {% endif %}
    {% do return(cache.adapter_types) %}
{% endmacro %}


{#- `of_log` is the type that the record's own schema tells; it counts where it says more than a text or a
    number. -#}
{% macro _encoding_of(column, given, of_log) %}
    {% set name, _, size = (of_log or '').partition('(') %}
    {% set source_type = {
        'org.apache.kafka.connect.data.Decimal': 'decimal(38,' ~ size,
        'io.debezium.data.VariableScaleDecimal': 'decimal',
        'org.apache.kafka.connect.data.Date': 'date',
        'io.debezium.time.Date': 'date',
        'io.debezium.time.IsoDate': 'date',
        'org.apache.kafka.connect.data.Timestamp': 'timestamp(3)',
        'io.debezium.time.Timestamp': 'timestamp(3)',
        'io.debezium.time.MicroTimestamp': 'timestamp(6)',
        'io.debezium.time.NanoTimestamp': 'timestamp(9)',
    }.get(name, given) %}
    {% set encoding = dbt_cdc._encoding(source_type, column.name) if source_type else {'name': none} %}
    {% set is_binary = dbt_cdc._type_family(column.data_type) == 'binary' or encoding.name == 'binary' %}
    {#- A number in an integer column stays one, also where the source means a time by it. -#}
    {% if encoding.name == 'base64'
        or (encoding.name in ['date', 'timestamp'] and dbt_cdc._type_family(column.data_type) == 'integer') %}
        {% do return({'name': none}) %}
    {% endif %}
    {#- A schema calls hexadecimal binaries and decimals with a point strings, other binaries bytes. -#}
    {% if of_log == 'string' and (is_binary or encoding.name == 'decimal') %}
        {% do return({'name': 'binary(hex)' if is_binary else none}) %}
    {% endif %}
    {% do return({'name': none} if encoding.name == 'binary' else encoding) %}
{% endmacro %}


{#- 'decimal(18,4)' -> {name: 'decimal', scale: 4, bytes: 8}. -#}
{% macro _encoding(source_type, column_name) %}
    {% set text = source_type | string | lower | replace(' ', '') %}
    {% set match = modules.re.fullmatch(
        '(decimal)(?:\\((\\d+)(?:,(\\d+))?\\))?|(date)|timestamp(?:\\(([0-9])\\))?|binary(?:\\((hex|base64)\\))?|text', text
    ) %}
    {% if not match %}
        {% do dbt_cdc.raise_cdc_error(
            22963, "the source type of column '" ~ column_name ~ "' is '" ~ source_type ~ "'",
            'it is one of decimal(p,s), decimal (each value tells its scale), date, timestamp(0) to timestamp(9), '
            ~ 'binary, binary(hex), binary(base64), text (a number in quotes)'
        ) %}
    {% endif %}
    {% set decimal, precision, scale, date, digits, spelling = match.groups() %}
    {% if decimal %}
        {% do return({
            'name': 'decimal', 'scale': (scale or 0) | int if '(' in text else none,
            'bytes': 8 if (precision or 38) | int <= 18 else 16,
        }) %}
    {% elif text == 'text' %}
        {% do return({'name': 'text'}) %}
    {% elif date %}
        {% do return({'name': 'date'}) %}
    {% elif text.startswith('timestamp') %}
        {% set place = ([digits | default(6, true) | int - 1, 0] | max) // 3 %}
        {% do return({'name': 'timestamp', 'unit': ['ms', 'us', 'ns'][place]}) %}
    {% endif %}
    {% do return({'name': {'hex': 'binary(hex)'}.get(spelling, spelling or 'binary')}) %}
{% endmacro %}


{#- The different `encodings` that the window's records have, by table: where an adapter may have written the
    log, one of this project or that of a source. They are cached when all are known, as threads ask at once. -#}
{% macro _encodings_of_log(window) %}
    {% set cache = dbt_cdc._invocation_cache() %}
    {% set key = 'encodings since ' ~ window.floor_lsn %}
    {% if key not in cache %}
        {% set found = {} %}
        {% if window.to_lsn and not dbt_cdc._is_unit_test()
            and (dbt_cdc._adapter_types() is not none or dbt_cdc._setting('cdc_log_source'))
            and dbt_cdc._log_has(window.log, 'encodings') %}
            {% for row in dbt_cdc._fetch(
                "select source_schema || '.' || source_name as source_table, "
                ~ 'to_json(array_sort(collect_set(encodings))) as encodings, count_if(encodings is null) as without '
                ~ 'from ' ~ window.log ~ " where lsn >= '" ~ (window.floor_lsn or dbt_cdc._zero_lsn())
                ~ "' and lsn <= '" ~ window.to_lsn ~ "' and source_name is not null group by all"
            ) %}
                {% do found.update({
                    row.source_table: fromjson(row.encodings) + ([none] if row.without else [])
                }) %}
            {% endfor %}
        {% endif %}
        {% do cache.update({key: found}) %}
    {% endif %}
    {% do return(cache[key]) %}
{% endmacro %}


{#- Whether a record is one of those that have this encoding, as its `encodings` tell. -#}
{% macro _has_encoding(encoding) -%}
    {%- set texts = encoding.texts | select | list -%}
    ({{ 'encodings in (' ~ dbt_cdc._literals(texts) ~ ')' if texts }}
    {{- ' or ' if texts and none in encoding.texts }}
    {{- 'encodings is null' if none in encoding.texts }})
{%- endmacro %}
