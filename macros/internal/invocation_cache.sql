{#- A dictionary that lives as long as one dbt command: what was resolved once (the scan window,
    the capture instances) is asked of the database once. -#}
{% macro _invocation_cache() %}
    {% do return(graph.setdefault('dbt_cdc', {})) %}
{% endmacro %}


{#- True where dbt really builds models (run, build): only then may state be written. -#}
{% macro _is_building() %}
    {% do return(
        execute and flags.WHICH in ['run', 'build', 'retry'] and not flags.EMPTY
        and not dbt_cdc._is_unit_test()
    ) %}
{% endmacro %}


{% macro _is_unit_test() %}
    {% do return(model is defined and model.get('resource_type') == 'unit_test') %}
{% endmacro %}
