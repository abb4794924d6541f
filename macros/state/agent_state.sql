{#- What scripts/agent.py asks: the jobs, and the requests of start_job and stop_job after `since` (none:
    only how far they have come). The answer is a line of JSON in dbt's debug log. -#}
{% macro _agent_state(since=none) %}
    {% if execute %}
        {% set requests = dbt_cdc._state_relation('job_requests') %}
        {% set latest = dbt_cdc._fetch(
            'select cast(max(requested_at) as string) as time from ' ~ requests
            ~ " where job_type <> 'agent'")[0].time
            if dbt_cdc._has_state('job_requests') else none %}
        {% set new = dbt_cdc._fetch(
            'select job_type, request from ' ~ requests ~ ' where requested_at > '
            ~ dbt_cdc._time_literal(since) ~ " and job_type <> 'agent' order by requested_at"
        ) if since and latest and latest > since else [] %}
        {% set jobs = {} %}
        {% for name, job in dbt_cdc._jobs().items() %}
            {% do jobs.update({name: {
                'continuous': job.continuous, 'pollinginterval': job.pollinginterval | int,
                'most_commits': job.maxtrans * job.maxscans,
            }}) %}
        {% endfor %}
        {% do log('cdc agent: ' ~ tojson({
            'latest': latest or '1970-01-01 00:00:00', 'requests': new, 'jobs': jobs
        })) %}
    {% endif %}
{% endmacro %}


{#- What scripts/agent.py says of itself: `runs`, `goes on` every five minutes, or `ends`. It has one row. Where the
    schema was disabled since it began, it makes nothing anew. -#}
{% macro _note_agent(note) %}
    {% if execute and (note == 'runs' or dbt_cdc._has_state('job_requests')) %}
        {% do dbt_cdc._make_jobs() %}
        {% do dbt_cdc._ensure_state_tables('jobs') %}
        {% do run_query(dbt_cdc._in_turn(
            'merge into ' ~ dbt_cdc._state_relation('job_requests') ~ " as present using (select 'agent' as "
            ~ "job_type, '" ~ ('ends' if note == 'ends' else 'runs') ~ "' as request, current_timestamp() as "
            ~ 'requested_at) as note on present.job_type = note.job_type '
            ~ 'when matched then update set * when not matched then insert *'
        )) %}
    {% endif %}
{% endmacro %}


{#- The agent that has last said that it runs: `time`, and `is_silent`, for half an hour; none where it has ended. -#}
{% macro _agent_heard_of() %}
    {% if dbt_cdc._has_state('job_requests') %}
        {% set notes = dbt_cdc._fetch(
            'select request, cast(requested_at as string) as time, '
            ~ "requested_at < current_timestamp() - interval '30' minute as is_silent from "
            ~ dbt_cdc._state_relation('job_requests') ~ " where job_type = 'agent'"
        ) %}
    {% endif %}
    {% do return(notes[0] if notes and notes[0].request == 'runs' else none) %}
{% endmacro %}


{#- The same, none where it is silent. -#}
{% macro _live_agent() %}
    {% set agent = dbt_cdc._agent_heard_of() %}
    {% do return(agent if agent and not agent.is_silent else none) %}
{% endmacro %}


{#- It goes on with the models that it has read. -#}
{% macro _tell_agent_of_models() %}
    {% set agent = dbt_cdc._live_agent() %}
    {% do log('an agent runs (heard of at ' ~ agent.time ~ '), on the models that it has read: delete them, and run '
        ~ 'start_job before its next scan enters it anew', info=true) if agent %}
{% endmacro %}


{#- Writes down what a running agent is asked to do. -#}
{% macro _request_of_job(job_type, request) %}
    {% do dbt_cdc._make_jobs() %}
    {% do dbt_cdc._ensure_state_tables('jobs') %}
    {% do dbt_cdc._insert_state(
        'job_requests', [{'job_type': job_type, 'request': request, 'requested_at': 'now'}]) %}
{% endmacro %}


{#- With the first instance, as SQL Server, which starts both jobs then. -#}
{% macro _tell_of_jobs() %}
    {% do dbt_cdc._log_line(
        "Job '" ~ dbt_cdc._job_name('capture') ~ "' started successfully: it is this run, and each one after it"
    ) %}
    {% do dbt_cdc._log_line(
        "Job '" ~ dbt_cdc._job_name('cleanup') ~ "' " ~ ('is started by the agent' if dbt_cdc._live_agent()
            else 'is to be scheduled daily: dbt run-operation cleanup; `' ~ dbt_cdc._agent_command()
            ~ '` runs both jobs')
    ) %}
{% endmacro %}


{% macro _agent_command() %}
    {% do return('python dbt_packages/dbt_cdc/scripts/agent.py') %}
{% endmacro %}
