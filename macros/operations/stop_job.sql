{#- Run-operation: asks a running agent to stop a job; the scan in hand is finished. -#}
{% macro stop_job(job_type='capture', dry_run=false) %}
    {% do dbt_cdc._ask_agent(job_type, 'stop', dry_run) %}
{% endmacro %}
