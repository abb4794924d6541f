{#- Who has to capture a window before it is published: capture instances and tracked tables, by name. -#}
{% macro _participants() %}
    {% do return(dict(dbt_cdc._capture_instances(), **dbt_cdc._tracked_tables())) %}
{% endmacro %}
