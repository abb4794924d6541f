{#- Whether change data capture is enabled in the schema, and whether it can be. -#}

{#- Whether somebody else has a table or a view under a name of CDC's. -#}
{% macro _check_names_are_free() %}
    {% set taken = [] %}
    {% for node in dbt_cdc._state_nodes() %}
        {% set found = load_cached_relation(dbt_cdc._model_relation(node)) %}
        {% set is_view = node.config.materialized == 'state_view' %}
        {% do taken.append(node.alias)
            if found is not none and (found.is_view != is_view or not dbt_cdc._has_columns_of(node, found)) %}
    {% endfor %}
    {% do dbt_cdc.raise_cdc_error(
        22906, 'schema ' ~ dbt_cdc._state_relation('change_tables').schema ~ ' has objects under names of '
        ~ 'change data capture that are not its own: ' ~ taken | join(', '),
        'rename them, or give the target another schema'
    ) if taken %}
{% endmacro %}


{#- As enable_db does, where a run is what enables: before the first state table is made. -#}
{% macro _check_first_run() %}
    {% set cache = dbt_cdc._invocation_cache() %}
    {% if not cache.get('names_are_free') and not dbt_cdc._has_state('change_tables') %}
        {% do dbt_cdc._check_names_are_free() %}
        {% do cache.update(names_are_free=true) %}
    {% endif %}
{% endmacro %}


{% macro _has_columns_of(node, relation) %}
    {% set names = adapter.get_columns_in_relation(relation) | map(attribute='name') | map('lower') | list %}
    {% do return(node.columns | map('lower') | reject('in', names) | list == []) %}
{% endmacro %}


{#- The models of this package that hold or show the state. -#}
{% macro _state_nodes() %}
    {% set kinds = ['state_table', 'state_view', 'scan', 'publication'] %}
    {% do return(graph.nodes.values() | selectattr('resource_type', 'eq', 'model')
        | selectattr('package_name', 'eq', 'dbt_cdc') | selectattr('config.materialized', 'in', kinds)
        | sort(attribute='alias')) %}
{% endmacro %}


{#- The names of those that are tables and are there. -#}
{% macro _present_state_tables() %}
    {% set names = [] %}
    {% for node in dbt_cdc._state_nodes()
        if node.config.materialized != 'state_view' and dbt_cdc._has_state(node.name) %}
        {% do names.append(node.name) %}
    {% endfor %}
    {% do return(names) %}
{% endmacro %}


{% macro _check_enabled() %}
    {% do dbt_cdc.raise_cdc_error(
        22910, 'schema ' ~ dbt_cdc._state_relation('change_tables').schema ~ ' is not enabled for change '
        ~ 'data capture', 'check the target; dbt run enables it, or dbt run-operation enable_db'
    ) if not dbt_cdc._has_state('change_tables') %}
{% endmacro %}
