{#- Run-operation: makes all persistent functions anew, as after an update of the package, and gives state tables the
    columns that it has brought. -#}
{% macro create_functions() %}
    {% if execute %}
        {% do dbt_cdc._check_enabled() %}
        {% for name in dbt_cdc._present_state_tables() %}
            {% do dbt_cdc._add_missing_columns(name, adapter.get_columns_in_relation(
                dbt_cdc._state_relation(name)) | map(attribute='name') | list) %}
        {% endfor %}
        {#- those of a table that is not captured or published yet are made by the run that publishes it -#}
        {% set known, captured = dbt_cdc._registered_if_any(), [] %}
        {% for name, instance in dbt_cdc._capture_instances().items()
            if name in known and load_cached_relation(instance.relation) is not none %}
            {% do dbt_cdc._check_unedited(instance, known[name]) %}
            {% do dbt_cdc._take_registered(instance, known[name]) %}
            {% do captured.append(instance) %}
        {% endfor %}
        {% set tracked = dbt_cdc._tracked_tables().values()
            | selectattr('key', 'in', dbt_cdc._tracking_state().min_valid_versions) | list %}
        {% for table in tracked %}{% do dbt_cdc._check_tracked_as_entered(table) %}{% endfor %}
        {#- they read the view; tracked tables alone have none -#}
        {% do dbt_cdc._publish_lost_view() %}
        {% set names = dbt_cdc._create_functions(captured)
            if load_cached_relation(dbt_cdc._validity_intervals()) is not none else [] %}
        {% for name in names + dbt_cdc._create_tracking_functions(tracked) %}
            {% do log('created ' ~ name, info=true) %}
        {% endfor %}
    {% endif %}
{% endmacro %}
