{#- The request of one that is silent is written down, too: it may be in a long scan. -#}
{% macro _ask_agent(job_type, request, dry_run) %}
    {% if execute %}
        {% set dry_run = dbt_cdc._as_boolean('dry_run', dry_run) %}
        {% do dbt_cdc._find_job(job_type, dbt_cdc._checked_jobs(job_type, {})) %}
        {% set agent = dbt_cdc._agent_heard_of() %}
        {% do dbt_cdc._request_of_job(job_type, request) if agent and not dry_run %}
        {% do dbt_cdc.raise_cdc_error(22022, dbt_cdc._no_agent(job_type, request, agent),
            dbt_cdc._without_agent(job_type, request, agent, dry_run))
            if not agent or agent.is_silent %}
        {% do log(
            "Job '" ~ dbt_cdc._job_name(job_type) ~ "' " ~ ('would be ' if dry_run)
            ~ {'start': 'started', 'stop': 'stopped'}[request] ~ (' successfully' if not dry_run)
            ~ ': the agent, heard of at ' ~ agent.time ~ ', obeys when it next polls', info=true
        ) %}
    {% endif %}
{% endmacro %}


{% macro _no_agent(job_type, request, agent) %}
    {% do return(
        ('no agent has been heard of since ' ~ agent.time ~ ',' if agent else 'no agent runs')
        ~ ' that could ' ~ request ~ " job '" ~ dbt_cdc._job_name(job_type) ~ "'"
    ) %}
{% endmacro %}


{% macro _without_agent(job_type, request, agent, dry_run=false) %}
    {% set silent = 'the request ' ~ ('would be' if dry_run else 'is') ~ ' written down: one that is in a long scan '
        ~ 'obeys after it; if none runs, ' if agent else '' %}
    {% do return(silent ~ (
        'there is nothing to stop' if request == 'stop'
        else 'start one with `' ~ dbt_cdc._agent_command() ~ '`, then ask again; or do without an agent: `'
            ~ ('dbt run' if job_type == 'capture' else 'dbt run-operation cleanup') ~ '`'
    )) %}
{% endmacro %}
