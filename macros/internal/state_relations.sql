{#- Where the state lives. Tables are models of this package, always those of the target: what another
    schema has captured is no state of this one, so `--defer` does not reach them. `validity_intervals` is a
    view beside them, replaced whole at each publication (docs/decisions/0002). -#}
{% macro _state_relation(name) %}
    {% if execute and not dbt_cdc._is_unit_test() %}
        {% do return(dbt_cdc._model_relation(graph.nodes['model.dbt_cdc.' ~ name])) %}
    {% endif %}
    {% do return(ref('dbt_cdc', name)) %}
{% endmacro %}


{#- `mapping`: the lsn_time_mapping beside it, by default the target's. -#}
{% macro _validity_intervals(mapping=none) %}
    {% set mapping = mapping or dbt_cdc._state_relation('lsn_time_mapping') %}
    {% do return(mapping.incorporate(path={'identifier': 'validity_intervals'}, type='view')) %}
{% endmacro %}


{#- The lsn_time_mapping whose bounds a query takes: the one beside its change table, wherever `--defer`
    finds that. Without a `capture_instance`, beside any change table that the model reads. -#}
{% macro _mapping_to_read(capture_instance=none) %}
    {% set mapping = ref('dbt_cdc', 'lsn_time_mapping') %}
    {% set own = dbt_cdc._state_relation('lsn_time_mapping') %}
    {% if dbt_cdc._resolved_consumer() or dbt_cdc._is_unit_test() %}
        {% do return(own) %}
    {% endif %}
    {% for instance in (dbt_cdc._capture_instances().values() if dbt_cdc._parents_of_model() else [])
        if instance.unique_id in dbt_cdc._parents_of_model()
        and (capture_instance is none or instance.name | lower == capture_instance | lower) %}
        {% set relation = dbt_cdc._change_table_to_read(instance) %}
        {% if relation | string == instance.relation | string %}
            {% do return(own) %}
        {% elif mapping | string == own | string %}
            {% do return(own.incorporate(
                path={'database': relation.database, 'schema': relation.schema})) %}
        {% endif %}
    {% endfor %}
    {% do return(mapping) %}
{% endmacro %}


{#- A state table in the schema of an lsn_time_mapping; without one, the target's. -#}
{% macro _state_beside(mapping, name) %}
    {% do return(
        mapping.incorporate(path={'identifier': name}) if mapping else dbt_cdc._state_relation(name)
    ) %}
{% endmacro %}


{#- The nodes that dbt knows for parents of the one at work. -#}
{% macro _parents_of_model() %}
    {% do return((model.get('depends_on') or {}).get('nodes', []) if model is defined else []) %}
{% endmacro %}


{#- The table of a model, as `graph` has the model. -#}
{% macro _model_relation(node) %}
    {% do return(api.Relation.create(
        database=node.database, schema=node.schema, identifier=node.alias, type='table'
    )) %}
{% endmacro %}


{#- Rows of a small query as dictionaries; times as text. -#}
{% macro _fetch(query) %}
    {% do return(dbt_cdc._dictionaries(run_query(query))) %}
{% endmacro %}


{% macro _dictionaries(table) %}
    {% set rows = [] %}
    {% for row in table.rows %}
        {% do rows.append(row.dict()) %}
    {% endfor %}
    {% do return(rows) %}
{% endmacro %}


{#- The rows of a query as one JSON text. -#}
{% macro _as_json(query) -%}
    select to_json(collect_list(struct(*)), map('ignoreNullFields', 'false'))
    from (
        {{ dbt_cdc._indent(query, 8) }}
    )
{%- endmacro %}


{#- Tells dbt while it parses which state the scan and the publication use. What only reports on scans is not
    among it: in `dbt build` its failing data tests would keep the next scan from running. -#}
{% macro _declare_state() %}
    {% for name in ['change_tables', 'captured_columns', 'index_columns', 'ddl_history', 'observed_columns',
        'scan_transactions', 'scan_progress', 'scan_sessions', 'dm_cdc_errors'] if name != model.name %}
        {% do dbt_cdc._state_relation(name) %}
    {% endfor %}
    {% for name in ['change_tracking_databases', 'change_tracking_tables', 'syscommittab']
        if dbt_cdc._listed('cdc_tracked_tables') %}
        {% do dbt_cdc._state_relation(name) %}
    {% endfor %}
{% endmacro %}


{#- Whether a state table is there. -#}
{% macro _has_state(name) %}
    {% do return(load_cached_relation(dbt_cdc._state_relation(name)) is not none) %}
{% endmacro %}
