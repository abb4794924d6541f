{#- A model of a package, and each version of one, has a bookmark of its own. -#}
{% macro _consumer_name(node) %}
    {% do return(
        (node.package_name ~ '.' if node.package_name != project_name else '') ~ node.name
        ~ ('.v' ~ node.version if node.get('version') is not none else '')
    ) %}
{% endmacro %}


{% macro _consumer_node(name) %}
    {% for node in graph.nodes.values()
        if node.resource_type == 'model' and dbt_cdc._consumer_name(node) == name %}
        {% do return(node) %}
    {% endfor %}
    {% do return(none) %}
{% endmacro %}


{#- How dbt selects a consumer: in a package by its folders, too. -#}
{% macro _selector_of(name) %}
    {% set node = dbt_cdc._consumer_node(name) %}
    {% do return(node.fqn | join('.') if node and node.package_name != project_name else name) %}
{% endmacro %}


{#- A model's own full_refresh: false counts more than the command's. -#}
{% macro _rebuild_command(name) %}
    {% do return('dbt run --full-refresh --select ' ~ dbt_cdc._selector_of(name)
        ~ (' (after full_refresh: false is taken out of its config)'
            if (dbt_cdc._consumer_node(name) or {}).get('config', {}).get('full_refresh') is false)) %}
{% endmacro %}


{#- One of several instances is named: an incremental model would repeat the others' changes. -#}
{% macro _reset_command(name, capture_instance=none, more='') %}
    {% do return('dbt run-operation reset_consumer --args ' ~ dbt_cdc._shell_text(
        '{consumer: ' ~ (name if '.' in name else dbt_cdc._yaml_text(name))
        ~ (', capture_instance: ' ~ dbt_cdc._yaml_text(capture_instance) if capture_instance) ~ more ~ '}')) %}
{% endmacro %}


{#- The consumer of this model, where new_changes has resolved it; an empty one otherwise. -#}
{% macro _resolved_consumer() %}
    {% do return(
        dbt_cdc._invocation_cache().get('consumers', {}).get(dbt_cdc._consumer_name(model), {})
        if model is defined else {}
    ) %}
{% endmacro %}
