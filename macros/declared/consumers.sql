{#- Whether models consume changes, of the project or among the nodes `ids`. -#}
{% macro _has_consumers(ids=none) %}
    {% for node in graph.nodes.values()
        if node.resource_type == 'model' and node.name != 'cdc_consumers' and (ids is none or node.unique_id in ids)
        and dbt_cdc._is_consumer(node) %}
        {% do return(true) %}
    {% endfor %}
    {% do return(false) %}
{% endmacro %}


{#- Whether a node has bookmarks, as new_changes gives it. -#}
{% macro _is_consumer(node) %}
    {% do return('model.dbt_cdc.consumer_bookmarks' in (node.get('depends_on') or {}).get('nodes', [])) %}
{% endmacro %}
