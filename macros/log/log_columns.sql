{#- Whether the log has a column that it may leave out. -#}
{% macro _log_has(log, column) %}
    {% set cache = dbt_cdc._invocation_cache() %}
    {% if 'log_columns' not in cache %}
        {#- with --empty the relation is a query of no rows -#}
        {% do cache.update(log_columns=adapter.get_columns_in_relation(log.replace(limit=none))
            | map(attribute='name') | map('lower') | list) %}
    {% endif %}
    {% do return(column in cache.log_columns) %}
{% endmacro %}
