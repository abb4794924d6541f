{#- Run-operation: makes all persistent functions anew, e.g. after an update of the package. -#}
{% macro create_functions() %}
    {% if execute %}
        {% set known = dbt_cdc._registered_if_any() %}
        {% for name, instance in dbt_cdc._capture_instances().items() if name in known %}
            {% do dbt_cdc._check_unedited(instance, known[name]) %}
            {% do dbt_cdc._take_registered(instance, known[name]) %}
        {% endfor %}
        {#- those of a table that is not published yet are made by the run that publishes it -#}
        {% set tracked = dbt_cdc._tracked_tables().values()
            | selectattr('key', 'in', dbt_cdc._tracking_state().min_valid_versions) | list %}
        {% for name in dbt_cdc._create_functions(dbt_cdc._capture_instances().values() | list)
            + dbt_cdc._create_tracking_functions(tracked) %}
            {% do log('created ' ~ name, info=true) %}
        {% endfor %}
    {% endif %}
{% endmacro %}
