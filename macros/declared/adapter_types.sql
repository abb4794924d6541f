{#- The argument `types` of the adapters in this project, each of which leaves it in its model's meta; none
    without an adapter. -#}
{% macro _adapter_types() %}
    {% set cache = dbt_cdc._invocation_cache() %}
    {% if 'adapter_types' not in cache %}
        {% set found = namespace(types=none) %}
        {% set nodes = [] if dbt_cdc._is_unit_test() else graph.nodes.values() %}
        {% for node in nodes if node.resource_type == 'model' %}
            {% set types = (node.config.meta or {}).get('cdc_source_types') %}
            {% set found.types = dict(found.types or {}, **types) if types is mapping else found.types %}
        {% endfor %}
        {% do cache.update(adapter_types=found.types) %}
    {% endif %}
    {% do return(cache.adapter_types) %}
{% endmacro %}
