{#- Run-operation: removes a job. -#}
{% macro drop_job(job_type, dry_run=false) %}
    {% if execute %}
        {% set dry_run = dbt_cdc._as_boolean('dry_run', dry_run) %}
        {% set jobs = dbt_cdc._checked_jobs(job_type, {}) %}
        {% do dbt_cdc._find_job(job_type, jobs) %}
        {% do jobs.pop(job_type) %}
        {% do dbt_cdc._change_jobs(dbt_cdc._in_turn(
            'delete from ' ~ dbt_cdc._state_relation('cdc_jobs')
            ~ " where job_type = '" ~ job_type ~ "'"), jobs, dry_run
        ) %}
    {% endif %}
{% endmacro %}
