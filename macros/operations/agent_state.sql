{#- What scripts/agent.py asks: the jobs, and the requests of start_job and stop_job after `since` (none:
    only how far they have come). The answer is a line of JSON in dbt's debug log. -#}
{% macro _agent_state(since=none) %}
    {% if execute %}
        {% set requests = dbt_cdc._state_relation('job_requests') %}
        {% set latest = dbt_cdc._fetch(
            'select cast(max(requested_at) as string) as time from ' ~ requests)[0].time
            if dbt_cdc._has_state('job_requests') else none %}
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
        {% do log('cdc agent: ' ~ tojson({
            'latest': latest or '1970-01-01 00:00:00', 'requests': new, 'jobs': jobs
        })) %}
    {% endif %}
{% endmacro %}


{#- Writes down what a running agent is asked to do. -#}
{% macro _request_of_job(job_type, request) %}
    {% do dbt_cdc._make_jobs() %}
    {% do dbt_cdc._ensure_state_tables('jobs') %}
    {% do run_query(
        'insert into ' ~ dbt_cdc._state_relation('job_requests') ~ " select '" ~ job_type ~ "', '"
        ~ request ~ "', current_timestamp()"
    ) %}
{% endmacro %}
