{#- Run-operation: prints the jobs. -#}
{% macro help_jobs() %}
    {% do dbt_cdc._print_jobs(dbt_cdc._jobs()) if execute %}
{% endmacro %}
