{% macro _ask_agent(job_type, request, dry_run) %}
    {% if execute %}
        {% do dbt_cdc._find_job(job_type, dbt_cdc._checked_jobs(job_type, {})) %}
        {% set seen_at = dbt_cdc._agent_seen_at() %}
        {% if not seen_at %}
            {% do dbt_cdc.raise_cdc_error(22022, dbt_cdc._no_agent(job_type),
                'then ask again; or do without an agent: `' ~ (
                    'dbt run' if job_type == 'capture' else 'dbt run-operation cleanup') ~ '`') %}
        {% endif %}
        {% do dbt_cdc._request_of_job(job_type, request) if not dry_run %}
        {% do log(
            "Job '" ~ dbt_cdc._job_name(job_type) ~ "' " ~ ('would be ' if dry_run)
            ~ {'start': 'started', 'stop': 'stopped'}[request] ~ (' successfully' if not dry_run)
            ~ ': the agent, heard of at ' ~ seen_at ~ ', obeys when it next polls', info=true
        ) %}
    {% endif %}
{% endmacro %}


{% macro _no_agent(job_type) %}
    {% do return(
        "no agent runs that could start or stop job '" ~ dbt_cdc._job_name(job_type)
        ~ "'; start one with `" ~ dbt_cdc._agent_command() ~ '`'
    ) %}
{% endmacro %}
