{#- What Delta's history says of the last commit of that kind; none where it is not among the last ones. -#}
{% macro _last_metric(relation, operation, name) %}
    {% for row in dbt_cdc._fetch('describe history ' ~ relation ~ ' limit 5')
        if row.operation == operation %}
        {% set found = modules.re.search(name ~ '\\W+(\\d+)', row.operationMetrics | string) %}
        {% do return(found[1] | int if found else none) %}
    {% endfor %}
    {% do return(none) %}
{% endmacro %}
