{#- What init reads: where something has landed, which tables are in it, what columns they have. -#}

{#- {kind: folder, stream (a table of topic, partition and offset), events, export (SQL Server's lsn_time_mapping) or
    log; name; relation; landing: the call that lands it, of a folder or stream; reference: of a table}. -#}
{% macro _landed_place(landed) %}
    {% if not landed or landed is not string %}
        {% do dbt_cdc.raise_cdc_error(
            22963, "landed is '" ~ landed ~ "'",
            'name a folder of Debezium events, with a / (./events), or a table (schema.table)'
        ) %}
    {% elif '/' not in landed %}
        {% do return(dbt_cdc._landed_table(landed)) %}
    {% endif %}
    {% set folder = landed.rstrip('/') or '/' %}
    {% set batch = dbt_cdc._landing_of_folder(folder) %}
    {% do dbt_cdc.raise_cdc_error(22931, folder ~ ' has no file', 'let the sink write its files there first')
        if not batch.files %}
    {% set read, files = batch.files | length, batch.files[0].files %}
    {% do dbt_cdc._log_line('found ' ~ batch.events ~ ' events in ' ~ ('the first ' ~ read ~ ' of ' if read < files)
        ~ files ~ (' file' if files == 1 else ' files') ~ ', layout ' ~ batch.layout) %}
    {% do return({
        'kind': 'folder', 'name': folder, 'relation': '(' ~ dbt_cdc._landing_events(batch) ~ ')',
        'landing': "landed_files('" ~ folder.replace('\\', '\\\\').replace("'", "\\'") ~ "'"
            ~ (", layout='kafka_records'" if batch.layout == 'kafka_records') ~ ')',
    }) %}
{% endmacro %}


{% macro _landed_table(name) %}
    {% set parts = ([target.schema] if '.' not in name else []) + name.split('.') %}
    {% set relation = adapter.get_relation(none, parts[:-1] | join('.'), parts[-1]) %}
    {% do dbt_cdc.raise_cdc_error(
        22901, 'there is no table ' ~ parts | join('.'),
        'name the table of what has landed (schema.table), or a folder of Debezium events, with a / (./events)'
    ) if relation is none %}
    {% set columns = adapter.get_columns_in_relation(relation) | map(attribute='name') | map('lower') | list %}
    {% set log = ['lsn', 'tran_id', 'operation', 'record_time', 'source_schema', 'source_name', 'before_image',
        'after_image', 'ddl_command', 'command_id'] %}
    {% set stream = ['topic', 'partition', 'offset', 'key', 'value'] %}
    {% set export = ['start_lsn', 'tran_begin_time', 'tran_end_time', 'tran_id', 'tran_begin_lsn'] %}
    {% set events = ['position', 'topic', 'key', 'value', 'headers'] %}
    {% set kinds = {'events': events, 'stream': stream, 'log': log, 'export': export} %}
    {% for kind, needed in kinds.items() if needed | reject('in', columns) | list == [] %}
        {% set node = dbt_cdc._model_of(relation) %}
        {% set place = {
            'kind': kind, 'name': parts | join('.'), 'schema': relation.schema, 'identifier': relation.identifier,
            'relation': relation, 'model': node,
            'reference': dbt_cdc._reference_of(node, relation.identifier),
        } %}
        {% do place.update(dbt_cdc._landing_of_table(relation, place.reference)) if kind == 'stream' %}
        {% do return(place) %}
    {% endfor %}
    {% do dbt_cdc.raise_cdc_error(
        22963, 'table ' ~ parts | join('.') ~ ' has the columns ' ~ columns | join(', '),
        'landed events have ' ~ kinds.events | join(', ') ~ ', or ' ~ stream | join(', ')
        ~ '; a log has ' ~ log | join(', ')
        ~ "; of SQL Server's change tables name the lsn_time_mapping, which is exported beside them"
    ) %}
{% endmacro %}


{% macro _reference_of(model, identifier) %}
    {% do return("ref('" ~ model ~ "')" if model else "source('landed', " ~ tojson(identifier) ~ ')') %}
{% endmacro %}


{#- What a first look needs of a table of topic, partition and offset. -#}
{% macro _landing_of_table(relation, reference) %}
    {% set columns = dbt_cdc._landing_source_columns(relation, {}, 'table ' ~ relation) %}
    {% set rows = dbt_cdc._landing_table_rows({'columns': columns, 'relation': relation}) %}
    {% do return({
        'relation': '(with ' ~ rows ~ ' select row_number() over (order by topic, partition, offset) as position, '
            ~ 'topic, key, value, headers from rows)',
        'landing': 'landed_table(' ~ reference ~ ')',
    }) %}
{% endmacro %}


{#- The tables whose changes have landed, by name: {source_schema, source_name, changes, without_before_image, key,
    repeats_key: rows have the same one, schemas: the events' own, the last one last}. -#}
{% macro _landed_tables(place) %}
    {% set tables = {} %}
    {% do place.update(connector=dbt_cdc._landed_connector(place.relation)) if place.kind != 'log' %}
    {% for row in dbt_cdc._fetch(dbt_cdc._landed_tables_sql(place)) if row.source_name and row.changes %}
        {% set table = tables.setdefault(row.source_schema ~ '.' ~ row.source_name, {
            'source_schema': row.source_schema, 'source_name': row.source_name, 'changes': 0,
            'without_before_image': 0, 'key': none, 'repeats_key': false, 'schemas': [],
        }) %}
        {% do table.update(
            changes=table.changes + row.changes, key=row.key or table.key,
            without_before_image=table.without_before_image + row.without_before_image,
            repeats_key=row.repeats_key or table.repeats_key
        ) %}
        {% do table.schemas.append(fromjson(row.fields)) if row.fields %}
    {% endfor %}
    {% do return(tables) %}
{% endmacro %}


{#- The connector of the events: of the first one that tells it. -#}
{% macro _landed_connector(events) %}
    {% set found = dbt_cdc._fetch(
        "select get_json_object(value, '$.source.connector') as bare, "
        ~ "get_json_object(value, '$.payload.source.connector') as wrapped from " ~ events
        ~ ' where contains(value, \'"connector"\') limit 1') %}
    {% do return((found[0].bare or found[0].wrapped) if found else none) %}
{% endmacro %}


{#- `kind` is looked at for all events: what is wrong with one is an error, as it will be in the log. -#}
{% macro _landed_tables_sql(place) -%}
{%- if place.kind == 'log' -%}
with changes as (
    select
        source_schema,
        source_name,
        lsn,
        operation in ('INSERT', 'UPDATE', 'DELETE') as is_change,
        operation = 'UPDATE' and before_image is null as lacks_before_image,
        cast(null as string) as key,
        cast(null as string) as snapshot_key,
        cast(null as string) as snapshot_row,
        cast(null as string) as inserted_row,
        false as is_removal,
        cast(null as string) as fields
    from {{ place.relation }}
)
{%- else -%}
{%- set batch = dict(dbt_cdc._debezium_connector(place.connector), position=none, has_untold=true) -%}
with {{ dbt_cdc._debezium_envelopes(place.relation, batch, {}) }},

kinds as (
    select
        *,
        {{ dbt_cdc._debezium_kind(place.name, batch) | indent(8) }} as kind
    from envelopes
),

changes as (
    select
        coalesce(source.schema, source.db) as source_schema,
        source.table as source_name,
        position as lsn,
        kind in ('c', 'u', 'd', 'r') as is_change,
        kind = 'u' and before is null as lacks_before_image,
        if(get_json_object(key, '$.schema.type') is null, key, get_json_object(key, '$.payload')) as key,
        if(kind = 'r', concat({{ dbt_cdc._debezium_wal(batch) }}, ' ', key), null) as snapshot_key,
        if(kind = 'r', after, null) as snapshot_row,
        -- of a copy it is the same
        if(kind = 'c', concat_ws(' ', {{ dbt_cdc._debezium_wal(batch) }}, after), null) as inserted_row,
        kind in ('d', 't') as is_removal,
        if(value_schema is null, null, get_json_object(value, '$.schema.fields')) as fields
    from kinds
)
{%- endif %},

-- between two rows with one key the first is deleted
repeated as (
    select distinct
        source_schema,
        source_name,
        true as is_repeated
    from (
        select
            *,
            count_if(is_removal and key is null) over (partition by source_schema, source_name) as removals
        from changes
    )
    where key is not null
    group by source_schema, source_name, key
    having count(distinct inserted_row) > 1 + count_if(is_removal) + max(removals)
)

select
    source_schema,
    source_name,
    fields,
    count_if(is_change) as changes,
    count_if(lacks_before_image) as without_before_image,
    max_by(key, if(key is null, null, lsn)) as key,
    count(distinct snapshot_key, snapshot_row) > count(distinct snapshot_key)
    or coalesce(bool_or(is_repeated), false) as repeats_key
from changes
left join repeated using (source_schema, source_name)
group by source_schema, source_name, fields
order by source_schema, source_name, max(lsn)
{%- endmacro %}


{#- The changes as records of a log, for as long as this session is there: `lsn` is the position of the event. -#}
{% macro _landed_changes_sql(events) -%}
cache table cdc_landed_changes as
with {{ dbt_cdc._debezium_envelopes(events, {'position': none}, {}) }}

select
    position as lsn,
    {{ dbt_cdc._case_of('op', {'u': "'UPDATE'", 'd': "'DELETE'", 'c': "'INSERT'", 'r': "'INSERT'"}) | indent(4) }} as operation,
    coalesce(source.schema, source.db) as source_schema,
    source.table as source_name,
    {{ dbt_cdc._debezium_image('before') | indent(4) }} as before_image,
    {{ dbt_cdc._debezium_image('after') | indent(4) }} as after_image
from envelopes
{%- endmacro %}


{#- The columns of a table: {origin, columns}, from the events' own schema, else from values. A column without
    data_type is one that nothing tells of. -#}
{% macro _landed_columns(place, table) %}
    {% if place.kind == 'export' %}
        {% do return({'origin': 'the export', 'columns': table.columns}) %}
    {% elif place.kind == 'log' %}
        {% do return(dbt_cdc._source_columns(table.source_schema, table.source_name, place.relation)) %}
    {% elif not table.schemas %}
        {% if not place.is_cached %}
            {% do run_query('drop view if exists cdc_landed_changes') %}
            {% do run_query(dbt_cdc._landed_changes_sql(place.relation)) %}
            {% do place.update(is_cached=true) %}
        {% endif %}
        {% do return(dbt_cdc._observed_columns(
            'cdc_landed_changes', dbt_cdc._is_of_table(table.source_schema, table.source_name),
            table.source_schema ~ '.' ~ table.source_name, is_landed=true)) %}
    {% endif %}
    {% do return({
        'origin': 'the schemas of the events', 'columns': dbt_cdc._columns_of_schemas(table.schemas)
    }) %}
{% endmacro %}
