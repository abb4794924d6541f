{#- The model's, as it is selected: a model of a package, and each version of one, has a bookmark of its own. -#}
{% macro _consumer_name(node) %}
    {% do return(
        (node.package_name ~ '.' if node.package_name != project_name else '') ~ node.name
        ~ ('.v' ~ node.version if node.get('version') is not none else '')
    ) %}
{% endmacro %}


{#- The same, where new_changes has resolved it; an empty one otherwise. -#}
{% macro _resolved_consumer() %}
    {% do return(
        dbt_cdc._invocation_cache().get('consumers', {}).get(dbt_cdc._consumer_name(model), {})
        if model is defined else {}
    ) %}
{% endmacro %}
