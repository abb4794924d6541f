{#- Run-operation: makes a job; what is not given is the default. -#}
{% macro add_job(
    job_type, start_job=true, maxtrans=none, maxscans=none, continuous=none, pollinginterval=none,
    retention=none, threshold=none, dry_run=false
) %}
    {% if execute %}
        {% set start_job = dbt_cdc._as_boolean('start_job', start_job) %}
        {% set dry_run = dbt_cdc._as_boolean('dry_run', dry_run) %}
        {% set given = dict(
            maxtrans=maxtrans, maxscans=maxscans, continuous=continuous,
            pollinginterval=pollinginterval, retention=retention, threshold=threshold) %}
        {% set jobs = dbt_cdc._checked_jobs(job_type, given) %}
        {% do dbt_cdc.raise_cdc_error(
            14261, "the job '" ~ job_type ~ "' already exists", 'change it with change_job'
        ) if job_type in jobs %}
        {% set job = dbt_cdc._changed_job(dbt_cdc._default_jobs()[job_type], given) %}
        {% do jobs.update({job_type: job}) %}
        {% do dbt_cdc._change_jobs(
            'insert into ' ~ dbt_cdc._state_relation('cdc_jobs') ~ ' by name '
            ~ dbt_cdc._state_rows('cdc_jobs', [dict(job, database_id=0)]), jobs, dry_run
        ) %}
        {% if start_job and not dry_run %}
            {% set agent = dbt_cdc._agent_heard_of() %}
            {% do dbt_cdc._request_of_job(job_type, 'start') if agent %}
            {% do log(dbt_cdc._no_agent(job_type, 'start', agent) ~ ': '
                ~ dbt_cdc._without_agent(job_type, 'start', agent), info=true) if not agent or agent.is_silent %}
        {% endif %}
    {% endif %}
{% endmacro %}
