{#- What dbt's graph tells of nodes. -#}

{#- The table of a model, as `graph` has the model. -#}
{% macro _model_relation(node) %}
    {% do return(api.Relation.create(
        database=node.database, schema=node.schema, identifier=node.alias, type='table'
    )) %}
{% endmacro %}


{#- The model that writes a table, of this project, so that its run comes before the log's, or of `any_package`; none
    where there is none. Spark lists a schema called MyTeam as myteam. -#}
{% macro _model_of(relation, any_package=false) %}
    {% for node in graph.nodes.values() if node.resource_type == 'model'
        and (any_package or node.package_name == project_name)
        and (node.schema ~ '.' ~ node.alias) | lower == (relation.schema ~ '.' ~ relation.identifier) | lower %}
        {% do return(node.name) %}
    {% endfor %}
    {% do return(none) %}
{% endmacro %}


{#- What `--select` finds a log by; its table may have an alias. -#}
{% macro _selected(log) %}
    {% do return((dbt_cdc._model_of(log, any_package=true) if execute) or log.identifier) %}
{% endmacro %}


{#- The nodes that dbt knows for parents of the one at work. -#}
{% macro _parents_of_model() %}
    {% do return((model.get('depends_on') or {}).get('nodes', []) if model is defined else []) %}
{% endmacro %}


{#- The nodes that the command has built, by unique_id. -#}
{% macro _succeeded(results) %}
    {% do return(results | selectattr('status', 'eq', 'success') | map(attribute='node.unique_id') | list) %}
{% endmacro %}


{% macro _is_of_capture(node) %}
    {% do return(
        node.resource_type == 'model'
        and node.config.materialized in ['scan', 'change_table', 'change_tracking_table', 'publication']
    ) %}
{% endmacro %}


{#- ref() reads the latest version. -#}
{% macro _is_log_model(node) %}
    {% do return(node.resource_type == 'model' and node.name == var('cdc_log_model', none)
        and node.get('version') == node.get('latest_version')) %}
{% endmacro %}


{#- The model of the log and those that it reads, by id; all models where the log is a source. -#}
{% macro _models_of_log() %}
    {% set log_model, ids = var('cdc_log_model', none), [] %}
    {% for id, node in graph.nodes.items()
        if node.resource_type == 'model' and (not log_model or dbt_cdc._is_log_model(node)) %}
        {% do ids.append(id) %}
    {% endfor %}
    {% for id in ids %}
        {% do ids.extend(graph.nodes[id].depends_on.nodes | select('in', graph.nodes) | reject('in', ids) | list) %}
    {% endfor %}
    {% do return(ids) %}
{% endmacro %}
