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
    {% for text in of_log | select %}
        {% do dbt_cdc._check_encodings(text, instance.table, window.log) %}
    {% endfor %}
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


{#- Stops at a text of the log's column `encodings` that is none. -#}
{% macro _check_encodings(text, table, log) %}
    {% set types, wrong = fromjson(text, none), [] %}
    {% for type in (types.values() if types is mapping else [none]) if type is not string
        or modules.re.fullmatch('org[.]apache[.]kafka[.]connect[.]data[.]Decimal(?![(]-?\\d+[)]$).*', type) %}
        {% do wrong.append(type) %}
    {% endfor %}
    {% if wrong %}
        {% set lsn = dbt_cdc._fetch(
            "select min(lsn) as lsn from " ~ log ~ " where source_schema || '.' || source_name = "
            ~ dbt_cdc._literal(table) ~ ' and encodings = ' ~ dbt_cdc._literal(text))[0].lsn %}
        {% do dbt_cdc.raise_cdc_error(
            22859, 'bad log record of table ' ~ table ~ ', column encodings, lsn ' ~ lsn ~ ": it is '" ~ text ~ "'",
            'it is a JSON object, column to type: {"at": "io.debezium.time.Timestamp", "price": '
            ~ '"org.apache.kafka.connect.data.Decimal(2)"}, where a Decimal has its scale; nothing of this scan is '
            ~ 'published; correct it in all records that have it (an UPDATE, sent by run_statement), or leave it NULL '
            ~ 'and say by source_type how the columns are encoded, then run again'
        ) %}
    {% endif %}
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
        'bytea': 'binary(hex)',
    }.get(name, given) %}
    {% set encoding = dbt_cdc._encoding(source_type, column.name) if source_type else {'name': none} %}
    {#- An integer column keeps times of day in one unit, whatever the source's precision is by now. -#}
    {% set units, unit = ['ms', 'us', 'ns'], {
        'org.apache.kafka.connect.data.Time': 'ms',
        'io.debezium.time.Time': 'ms',
        'io.debezium.time.MicroTime': 'us',
        'io.debezium.time.NanoTime': 'ns',
    }.get(name) %}
    {% if unit or encoding.name == 'time' %}
        {% set kept = encoding.unit or ('ms' if column.data_type | lower | trim in ['int', 'integer'] else 'us') %}
        {% do return({'name': 'time', 'unit': unit, 'kept': kept, 'steps': units.index(kept) - units.index(unit)}
            if unit and unit != kept and dbt_cdc._type_family(column.data_type) == 'integer' else {'name': none}) %}
    {% endif %}
    {#- no connector that an adapter reads tells finer steps; a log of one's own may -#}
    {% do encoding.update(unit='100ns') if encoding.unit == 'ns' and dbt_cdc._adapter_types() is not none %}
    {% set is_binary = dbt_cdc._type_family(column.data_type) == 'binary' or encoding.name == 'binary' %}
    {#- A number in an integer column stays one, also where the source means a time by it. -#}
    {% if encoding.name == 'base64'
        or (encoding.name in ['date', 'timestamp'] and dbt_cdc._type_family(column.data_type) == 'integer') %}
        {% do return({'name': none}) %}
    {% endif %}
    {#- A schema calls hexadecimal binaries and decimals with a point strings, other binaries bytes; PostgreSQL calls
        decimals with a point numeric. -#}
    {% do return({'name': none}) if name == 'numeric' and encoding.name == 'decimal' %}
    {% do return({'name': 'binary(hex)' if is_binary else none})
        if of_log == 'string' and (is_binary or encoding.name == 'decimal') %}
    {% do return({'name': none} if encoding.name == 'binary' else encoding) %}
{% endmacro %}


{#- The different `encodings` that the window's records have, by table. They are cached when all are known, as threads
    ask at once. -#}
{% macro _encodings_of_log(window) %}
    {% set cache = dbt_cdc._invocation_cache() %}
    {% set key = 'encodings since ' ~ window.floor_lsn %}
    {% if key not in cache %}
        {% set found = {} %}
        {% if window.to_lsn and not dbt_cdc._is_unit_test() and window.log is not string
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
