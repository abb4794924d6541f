{#- What scripts/agent.py asks: the jobs, and the requests of start_job and stop_job after `since` (none:
    only how far they have come). The answer is a line of JSON in dbt's debug log. -#}
{% macro _agent_state(since=none) %}
    {% do dbt_cdc._declare_state() %}
    {% if execute %}
        {% do dbt_cdc._ensure_state_tables() %}
        {% set requests = dbt_cdc._state_relation('job_requests') %}
        {% set latest = dbt_cdc._fetch(
            'select cast(max(requested_at) as string) as time from ' ~ requests)[0].time %}
        {% set new = dbt_cdc._fetch(
            'select job_type, request from ' ~ requests ~ ' where requested_at > '
            ~ dbt_cdc._time_literal(since) ~ ' order by requested_at'
        ) if since and latest and latest > since else [] %}
        {% set jobs = {} %}
        {% for name, job in dbt_cdc._jobs().items() %}
            {% do jobs.update({name: {
                'continuous': job.continuous, 'pollinginterval': job.pollinginterval | int,
            }}) %}
        {% endfor %}
        {#- before the first instance there are no jobs yet -#}
        {% if not jobs and not dbt_cdc._registered_instances() %}
            {% set jobs = dbt_cdc._default_jobs() %}
        {% endif %}
        {% do log('cdc agent: ' ~ tojson({
            'latest': latest or '1970-01-01 00:00:00', 'requests': new, 'jobs': jobs
        })) %}
    {% endif %}
{% endmacro %}


{#- Writes down what a running agent is asked to do. -#}
{% macro _request_of_job(job_type, request) %}
    {% do run_query(
        'insert into ' ~ dbt_cdc._state_relation('job_requests') ~ " select '" ~ job_type ~ "', '"
        ~ request ~ "', current_timestamp()"
    ) %}
{% endmacro %}
