{#- The instance of a model as a run captures it: with the types that its change table has by now, or
    the error that says why it cannot. -#}
{% macro _current_instance(node) %}
    {% set instance = dbt_cdc._capture_instance(node) %}
    {% do dbt_cdc._capture_instances() if dbt_cdc._is_building() %}
    {% do return(instance) if dbt_cdc._is_unit_test() or not dbt_cdc.scan_window().to_lsn %}
    {% set plan = dbt_cdc._invocation_cache().plans.get(instance.name | lower) %}
    {% if dbt_cdc._is_building() and not plan %}
        {% do dbt_cdc.raise_cdc_error(
            22981, "capture instance '" ~ instance.name ~ "' is not in change_tables yet",
            'the scan enters it: dbt run --select +' ~ instance.model
        ) %}
    {% elif dbt_cdc._is_building() and plan.problem %}
        {% do dbt_cdc._raise_schema_problem(instance, plan.problem) %}
    {% endif %}
    {% do return(dbt_cdc._capture_instances()[instance.name | lower]) %}
{% endmacro %}
