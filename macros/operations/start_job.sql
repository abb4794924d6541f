{#- Run-operation: asks a running agent to start a job, with the parameters that cdc_jobs then has. -#}
{% macro start_job(job_type='capture', dry_run=false) %}
    {% do dbt_cdc._ask_agent(job_type, 'start', dry_run) %}
{% endmacro %}
