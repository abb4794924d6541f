{#- The columns of a table or of Parquet files that events are made of. -#}

{#- Name -> SQL of what an event is made of. Kafka's own columns are binary; headers are an array. -#}
{% macro _landing_source_columns(relation, given, place) %}
    {% set types, sql = {}, {} %}
    {% for row in dbt_cdc._fetch('describe query select * from ' ~ relation) %}
        {% do types.update({row.col_name | lower: row.data_type}) %}
    {% endfor %}
    {% set known = ['topic', 'partition', 'offset', 'key', 'value', 'headers', 'timestamp'] %}
    {% for name in given if name not in known %}
        {% do dbt_cdc.raise_cdc_error(
            22963, "landed_table: columns names '" ~ name ~ "'", 'give the names of columns for ' ~ known | join(', ')
        ) %}
    {% endfor %}
    {% set missing = [] %}
    {% for name in known %}
        {% set column = given.get(name, name) %}
        {% set data_type = types.get(column | lower) %}
        {% do missing.append(column) if not data_type and (name in known[:5] or name in given) %}
        {% do sql.update({name: dbt_cdc._landing_value(name, dbt_cdc._column(column), data_type, place)}) %}
    {% endfor %}
    {% do dbt_cdc.raise_cdc_error(
        22963, place ~ ' has no column ' ~ missing | join(', ') ~ '; it has ' ~ types | join(', '),
        "events have a topic, a partition, an offset, a key and a value: say what they are called there, as in "
        ~ "landed_table(..., columns={'offset': 'kafka_offset'})" ~ (
            '; debezium_log reads a table with a position by itself' if 'position' in types)
    ) if missing %}
    {% do return(sql) %}
{% endmacro %}


{% macro _landing_value(name, column, data_type, place=none) %}
    {% set wanted = {'partition': 'int', 'offset': 'bigint', 'timestamp': 'timestamp'}.get(name, 'string') %}
    {% if not data_type %}
        {% do return('cast(null as ' ~ wanted ~ ')') %}
    {% elif name == 'headers' and data_type.startswith('array<struct<key:string,value:binary') %}
        {% do return('to_json(transform(' ~ column
            ~ ', header -> struct(header.key as key, cast(header.value as string) as value)))') %}
    {% elif name == 'headers' and data_type.split('<')[0] in ['array', 'map', 'struct'] %}
        {% do return('to_json(' ~ column ~ ')') %}
    {% elif name == 'timestamp' and data_type == 'bigint' %}
        {% do return('timestamp_millis(' ~ column ~ ')') %}
    {% elif wanted not in ['string', data_type] %}
        {% do return(dbt_cdc._landing_cast(column, wanted, place)) %}
    {% endif %}
    {% do return('cast(' ~ column ~ ' as ' ~ wanted ~ ')') %}
{% endmacro %}


{#- A number or a time out of another type, or an error. -#}
{% macro _landing_cast(column, wanted, place) -%}
coalesce(try_cast({{ column }} as {{ wanted }}), if({{ column }} is null, null, {{ dbt_cdc._raise_bad_record(
    dbt_cdc._literal(place),
    "concat(" ~ dbt_cdc._literal('its column ' ~ column ~ ' has ') ~ ', ' ~ column
    ~ ", ', which is no " ~ wanted ~ "')",
    'partition and offset are numbers, as Kafka has them; other places, as the shards of Kinesis, need a model of your '
    ~ 'own that lands position and value (' ~ dbt_cdc._page('sources/dms.md') ~ '); nothing of this batch has landed'
) }}))
{%- endmacro %}


{% macro _landing_table_rows(batch) -%}
rows as (
    select
        {%- for name, sql in batch.columns.items() %}
        {{ sql }} as {{ name }},
        {%- endfor %}
        {{ batch.columns.topic }} as mark_topic,
        {{ batch.columns.partition }} as mark_partition,
        {{ batch.columns.offset }} as mark
    from {{ batch.relation }}
)
{%- endmacro %}
