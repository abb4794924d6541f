{#- What Delta's history says of the last commit of that kind, and not before `since`; none where it is
    not among the last ones. -#}
{% macro _last_metric(relation, operation, name, since=none) %}
    {% for row in dbt_cdc._fetch('describe history ' ~ relation ~ ' limit 5')
        if row.operation == operation and (since is none or row.timestamp >= since) %}
        {% set found = modules.re.search(name ~ '\\W+(\\d+)', row.operationMetrics | string) %}
        {% do return(found[1] | int if found else none) %}
    {% endfor %}
    {% do return(none) %}
{% endmacro %}
