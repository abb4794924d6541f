{#- Where the state lives. Tables are models of this package, always those of the target: what another
    schema has captured is no state of this one, so `--defer` does not reach them. `validity_intervals` is a
    view beside them, replaced whole at each publication (docs/decisions/0002). -#}
{% macro _state_relation(name) %}
    {% set relation = ref('dbt_cdc', name) %}
    {% if execute and not dbt_cdc._is_unit_test() %}
        {% set relation = dbt_cdc._model_relation(graph.nodes['model.dbt_cdc.' ~ name]) %}
    {% endif %}
    {% do return(relation) %}
{% endmacro %}


{% macro _validity_intervals() %}
    {% set mapping = dbt_cdc._state_relation('lsn_time_mapping') %}
    {% do return(mapping.incorporate(path={'identifier': 'validity_intervals'}, type='view')) %}
{% endmacro %}


{#- The table of a model, as `graph` has the model. -#}
{% macro _model_relation(node) %}
    {% do return(api.Relation.create(
        database=node.database, schema=node.schema, identifier=node.alias, type='table'
    )) %}
{% endmacro %}


{#- Rows of a small query as dictionaries; times as text. -#}
{% macro _fetch(query) %}
    {% set rows = [] %}
    {% for row in run_query(query).rows %}
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


{#- Tells dbt while it parses which state a model or hook uses. What only reports on scans is not among it:
    in `dbt build` its failing data tests would keep the next scan from running. -#}
{% macro _declare_state() %}
    {% for name in ['change_tables', 'captured_columns', 'index_columns', 'ddl_history', 'observed_columns',
        'lsn_time_mapping',
        'scan_transactions', 'scan_progress', 'scan_sessions', 'cdc_jobs', 'job_requests',
        'dm_cdc_errors', 'change_tracking_databases',
        'change_tracking_tables', 'syscommittab', 'mschange_tracking_history', 'consumer_bookmarks'] %}
        {% do dbt_cdc._state_relation(name) %}
    {% endfor %}
{% endmacro %}
