{#- What is published of change tracking: {current_version, scanned_lsn, min_valid_versions:
    {schema.table: version}}. Read from literals of a view of one row; where somebody dropped the
    view, from the tables. Nothing is published (current_version none) before the first window. `mapping`: the
    lsn_time_mapping beside that view, by default the target's. -#}
{% macro _tracking_state(mapping=none) %}
    {% set own = dbt_cdc._state_relation('lsn_time_mapping') %}
    {% set view = dbt_cdc._tracking_versions(mapping) %}
    {% if load_cached_relation(view) is not none %}
        {% do return(dbt_cdc._shown_of(dbt_cdc._fetch(dbt_cdc._shown_tracking_sql(mapping))[0])) %}
    {% elif (mapping or own) | string == own | string and dbt_cdc._has_state('syscommittab') %}
        {% set row = dbt_cdc._fetch(
            'select max(commit_ts) as commit_ts, max(commit_lsn) as commit_lsn from '
            ~ dbt_cdc._state_relation('syscommittab')
        )[0] %}
    {% endif %}
    {% set last_lsn = row.commit_lsn if row else none %}
    {% do return({
        'current_version': row.commit_ts | int if last_lsn else none,
        'scanned_lsn': last_lsn or dbt_cdc._zero_lsn(),
        'min_valid_versions': dbt_cdc._min_valid_versions(
            dbt_cdc._read_tracking(last_lsn).tables, dbt_cdc._tracked_keys()) if last_lsn else {},
        'is_shown': false,
    }) %}
{% endmacro %}


{% macro _shown_tracking_sql(mapping=none) -%}
    select current_version, scanned_lsn, to_json(min_valid_versions) as min_valid_versions
    from {{ dbt_cdc._tracking_versions(mapping) }}
{%- endmacro %}


{% macro _shown_of(row) %}
    {% do return({
        'current_version': row.current_version | int if row.current_version is not none else none,
        'scanned_lsn': row.scanned_lsn,
        'min_valid_versions': fromjson(row.min_valid_versions),
        'is_shown': true,
    }) %}
{% endmacro %}


{#- Where the versions are published that a query takes: beside a side table that it reads, wherever `--defer` finds
    that. -#}
{% macro _tracking_state_to_read() %}
    {% do dbt_cdc._check_is_no_unit_test() %}
    {% set mapping = ref('dbt_cdc', 'lsn_time_mapping') %}
    {% for tracked in (dbt_cdc._tracked_tables().values() if dbt_cdc._parents_of_model() else [])
        if tracked.unique_id in dbt_cdc._parents_of_model() %}
        {% set relation = ref(tracked.model) %}
        {% do return(dbt_cdc._tracking_state(dbt_cdc._mapping_beside(relation)))
            if relation.incorporate(event_time_filter=none) | string != tracked.relation | string %}
    {% endfor %}
    {% do return(dbt_cdc._tracking_state(mapping)) %}
{% endmacro %}


{#- The lsn_time_mapping of a table that `--defer` has found; it may be in another schema. -#}
{% macro _mapping_beside(relation) %}
    {% set deferred = graph.nodes['model.dbt_cdc.lsn_time_mapping'].get('defer_relation') or relation %}
    {% do return(dbt_cdc._state_relation('lsn_time_mapping').incorporate(
        path={'database': deferred.database, 'schema': deferred.schema})) %}
{% endmacro %}


{% macro _tracking_versions(mapping=none) %}
    {% do return(dbt_cdc._validity_intervals(mapping).incorporate(
        path={'identifier': 'change_tracking_versions'}, type='view')) %}
{% endmacro %}


{#- What change_tracking_tables holds, and the last version at or before an LSN: {tables: {name of
    the side table: row}, version}. -#}
{% macro _read_tracking(lsn) %}
    {% do return(dbt_cdc._tracking_of(dbt_cdc._fetch(dbt_cdc._read_tracking_sql(lsn)))) %}
{% endmacro %}


{#- Where a cleanup has taken the transactions up to the LSN, the first one that it has left tells the version.
    Each row may have what one more query of one row gives. -#}
{% macro _read_tracking_sql(lsn, beside=none) -%}
    select
        tables.*,
        to_json(tables.primary_key) as key_json,
        to_json(tables.columns) as columns_json,
        last.version
        {{- ',\n        beside.*' if beside }}
    from (
        select
            coalesce(
                max(case when commit_lsn <= '{{ lsn }}' then commit_ts end), min(commit_ts) - 1, 0
            ) as version
        from {{ dbt_cdc._state_relation('syscommittab') }}
    ) as last
    {%- if beside %}
    cross join (
        {{ dbt_cdc._indent(beside, 8) }}
    ) as beside
    {%- endif %}
    left join {{ dbt_cdc._state_relation('change_tracking_tables') }} as tables on true
    order by tables.source_schema, tables.source_name
{%- endmacro %}


{% macro _tracking_of(rows) %}
    {% set table = dbt_cdc._state_relation('change_tracking_tables') %}
    {% set declared = dbt_cdc._tracked_tables() %}
    {% set names = dict(zip(declared.values() | map(attribute='table'), declared)) %}
    {% set read = {'tables': {}, 'version': rows[0].version | int} %}
    {% for row in rows if row.source_name is not none %}
        {% set source_table = row.source_schema ~ '.' ~ row.source_name %}
        {% set name = names.get(source_table) or dbt_cdc._name_left(source_table) %}
        {% do read.tables.update({name: dict(
            row, name=name, table=source_table, key=source_table | lower,
            primary_key=fromjson(row.key_json), columns=fromjson(row.columns_json),
            relation=declared[name].relation if name in declared
                else table.incorporate(path={'identifier': name})
        )}) %}
    {% endfor %}
    {% do return(read) %}
{% endmacro %}


{#- The name of the side table of a table that has no model; none that a model has for another table. -#}
{% macro _name_left(source_table) %}
    {% set names = dbt_cdc._side_table_names(source_table) %}
    {% set table = dbt_cdc._state_relation('change_tracking_tables') %}
    {% for name in names if name not in dbt_cdc._tracked_tables()
        and load_cached_relation(table.incorporate(path={'identifier': name})) is not none %}
        {% do return(name) %}
    {% endfor %}
    {% do return(names[0]) %}
{% endmacro %}


{#- Of the tables that have one of the keys. -#}
{% macro _min_valid_versions(tables, keys) %}
    {% set versions = {} %}
    {% for row in tables.values() if row.key in keys %}
        {% do versions.update({row.key: row.min_valid_version | int}) %}
    {% endfor %}
    {% do return(versions) %}
{% endmacro %}


{#- Of the tables whose changes are being tracked: those that have a model. -#}
{% macro _tracked_keys() %}
    {% do return(dbt_cdc._tracked_tables().values() | map(attribute='key') | list) %}
{% endmacro %}
