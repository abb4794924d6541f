{#- What dbt's graph tells of nodes. -#}

{#- The table of a model, as `graph` has the model. -#}
{% macro _model_relation(node) %}
    {% do return(api.Relation.create(
        database=node.database, schema=node.schema, identifier=node.alias, type='table'
    )) %}
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
