{#- Run-operation: prints the jobs. -#}
{% macro help_jobs() %}
    {% if execute %}
        {% do dbt_cdc._print_jobs(dbt_cdc._jobs()) %}
    {% endif %}
{% endmacro %}
