{#- Where the state lives. Tables are models of this package, always those of the target: what another
    schema has captured is no state of this one, so `--defer` does not reach them. `validity_intervals` is a
    view beside them, replaced whole at each publication (docs/decisions/0002). -#}
{% macro _state_relation(name) %}
    {% do return(dbt_cdc._model_relation(graph.nodes['model.dbt_cdc.' ~ name]))
        if execute and not dbt_cdc._is_unit_test() %}
    {% do return(ref('dbt_cdc', name)) %}
{% endmacro %}


{#- `mapping`: the lsn_time_mapping beside it, by default the target's. -#}
{% macro _validity_intervals(mapping=none) %}
    {% set mapping = mapping or dbt_cdc._state_relation('lsn_time_mapping') %}
    {% do return(mapping.incorporate(path={'identifier': 'validity_intervals'}, type='view')) %}
{% endmacro %}


{#- A state table in the schema of an lsn_time_mapping; without one, the target's. -#}
{% macro _state_beside(mapping, name) %}
    {% do return(
        mapping.incorporate(path={'identifier': name}) if mapping else dbt_cdc._state_relation(name)
    ) %}
{% endmacro %}


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


{% macro _function_name(name) %}
    {% do return(dbt_cdc._validity_intervals().incorporate(path={'identifier': name}).render()) %}
{% endmacro %}


{#- Only the SQL of one, for a macro that may run before any view is made. -#}
{% macro _view_sql(name) -%}
    {{ render(graph.nodes['model.dbt_cdc.' ~ name].raw_code) }}
{%- endmacro %}
