{#- What the root project sets for all models counts for the package's, too, over what these set themselves. -#}
{% macro _check_configs() %}
    {% for node in graph.nodes.values() | sort(attribute='name')
        if node.resource_type == 'model' and node.fqn[:2] == ['dbt_cdc', 'metadata'] %}
        {% do dbt_cdc.raise_cdc_error(
            22938, 'model ' ~ node.name ~ " of dbt_cdc is materialized as '" ~ node.config.materialized
            ~ "', which would replace what it holds",
            'in dbt_project.yml, set +materialized under the name of the project: models: {'
            ~ project_name ~ ': {+materialized: ' ~ node.config.materialized ~ '}}'
        ) if node.config.materialized not in ['state_table', 'state_view', 'scan', 'publication'] %}
        {% do dbt_cdc._check_location(node, 'dbt_cdc') %}
    {% endfor %}
{% endmacro %}


{#- Delta takes over the files that a folder has, and a change table must begin empty. -#}
{% macro _check_location(node, scope) %}
    {% do dbt_cdc.raise_cdc_error(
        22938, 'model ' ~ node.name ~ " has location_root '" ~ node.config.location_root
        ~ "', and state and change tables are where their schema is",
        'keep location_root for other models, in dbt_project.yml: models: {' ~ scope
        ~ ': {+location_root: null}}, and give the schema a location'
    ) if node.config.get('location_root') %}
{% endmacro %}


{#- The columns of a state table, {name: type}. -#}
{% macro _state_columns(node) %}
    {% set columns = node.columns.values() %}
    {% do return(dict(zip(columns | map(attribute='name'), columns | map(attribute='data_type')))) %}
{% endmacro %}


{#- A table that only projects with an adapter have, for a query; others get no rows. -#}
{% macro _table_of_adapters(name, relation) -%}
    {%- if dbt_cdc._has_state(name) -%}
        {{ relation }}
    {%- else -%}
        (
            {{ dbt_cdc._no_rows(dbt_cdc._state_columns(graph.nodes['model.dbt_cdc.' ~ name]) if execute else {})
                | indent(12) }}
        )
    {%- endif -%}
{%- endmacro %}


{#- Whether a state table is one that every project has, or that this one has a use for (meta.made_for): tracked
    tables, models that consume, or an adapter. Those of jobs are made with the first instance, or by the
    run-operations of jobs. -#}
{% macro _is_needed(node) %}
    {% set made_for = node.config.meta.get('made_for') %}
    {% do return(
        not made_for
        or made_for == 'tracking' and dbt_cdc._listed('cdc_tracked_tables')
        or made_for == 'consumers' and dbt_cdc._has_consumers()
        or made_for == 'adapters' and dbt_cdc._adapter_types() is not none
    ) %}
{% endmacro %}


{#- A table in which models of several threads write at once is partitioned by them (meta.partitioned_by), so that Delta
    lets them. -#}
{% macro _create_state_table_sql(relation, node) -%}
    {%- set partition = node.config.meta.get('partitioned_by') -%}
    {{ dbt_cdc._create_table_sql(relation, dbt_cdc._state_columns(node)) }}
    {{- '\n    partitioned by (' ~ partition ~ ')' if partition }}
{%- endmacro %}


{#- Makes the state tables that are missing, whatever is selected; also those that are `made_for` what somebody
    asks for now. -#}
{% macro _ensure_state_tables(made_for=none) %}
    {% set relations, creates, schemas = [], [], {} %}
    {% for node in graph.nodes.values()
        if node.resource_type == 'model' and node.config.materialized in ['state_table', 'scan', 'publication']
        and (dbt_cdc._is_needed(node) or node.config.meta.get('made_for') == made_for) %}
        {% set relation = dbt_cdc._model_relation(node) %}
        {% if load_cached_relation(relation) is none %}
            {% do relations.append(relation) %}
            {% do creates.append(dbt_cdc._create_state_table_sql(relation, node)) %}
            {% do schemas.update({relation.without_identifier() | string: relation}) %}
        {% endif %}
    {% endfor %}
    {% do dbt_cdc._check_first_run() if creates %}
    {% for relation in schemas.values() %}
        {% do adapter.create_schema(relation) %}
    {% endfor %}
    {% do dbt_cdc._run_all(creates, is_repeatable=true) if creates %}
    {% for relation in relations %}
        {% do dbt_cdc._remember(relation) %}
        {% do dbt_cdc._invocation_cache().update(has_all_columns=true) if relation.identifier == 'consumer_bookmarks' %}
    {% endfor %}
{% endmacro %}
