{#- The parameters of the capture job and the cleanup job, kept in cdc_jobs. A change takes effect when
    the job next starts. -#}

{#- Run-operation: makes a job; what is not given is the default. -#}
{% macro add_job(
    job_type, start_job=true, maxtrans=none, maxscans=none, continuous=none, pollinginterval=none,
    retention=none, threshold=none, dry_run=false
) %}
    {% if execute %}
        {% set given = dict(
            maxtrans=maxtrans, maxscans=maxscans, continuous=continuous,
            pollinginterval=pollinginterval, retention=retention, threshold=threshold) %}
        {% set jobs = dbt_cdc._checked_jobs(job_type, given) %}
        {% if job_type in jobs %}
            {% do dbt_cdc.raise_cdc_error(
                14261, "the job '" ~ job_type ~ "' already exists", 'change it with change_job'
            ) %}
        {% endif %}
        {% set job = dbt_cdc._changed_job(dbt_cdc._default_jobs()[job_type], given) %}
        {% do jobs.update({job_type: job}) %}
        {% do dbt_cdc._change_jobs(
            'insert into ' ~ dbt_cdc._state_relation('cdc_jobs') ~ ' ' ~ dbt_cdc._job_row_sql(job),
            jobs, dry_run
        ) %}
        {% if start_job and not dry_run %}
            {% do dbt_cdc._request_of_job(job_type, 'start') if dbt_cdc._agent_seen_at()
                else log(dbt_cdc._no_agent(job_type), info=true) %}
        {% endif %}
    {% endif %}
{% endmacro %}


{#- Run-operation: changes what is given, leaves the rest. -#}
{% macro change_job(
    job_type='capture', maxtrans=none, maxscans=none, continuous=none, pollinginterval=none,
    retention=none, threshold=none, dry_run=false
) %}
    {% if execute %}
        {% set given = dict(
            maxtrans=maxtrans, maxscans=maxscans, continuous=continuous,
            pollinginterval=pollinginterval, retention=retention, threshold=threshold) %}
        {% set jobs = dbt_cdc._checked_jobs(job_type, given) %}
        {% set job = dbt_cdc._changed_job(dbt_cdc._find_job(job_type, jobs), given) %}
        {% do jobs.update({job_type: job}) %}
        {% set assignments = [] %}
        {% for name in given.keys() | list + ['is_threshold_given'] %}
            {% do assignments.append(name ~ ' = ' ~ job[name] | lower) %}
        {% endfor %}
        {% do dbt_cdc._change_jobs(
            'update ' ~ dbt_cdc._state_relation('cdc_jobs') ~ ' set ' ~ assignments | join(', ')
            ~ " where job_type = '" ~ job_type ~ "'", jobs, dry_run
        ) %}
    {% endif %}
{% endmacro %}


{#- Run-operation: removes a job. -#}
{% macro drop_job(job_type, dry_run=false) %}
    {% if execute %}
        {% set jobs = dbt_cdc._checked_jobs(job_type, {}) %}
        {% do dbt_cdc._find_job(job_type, jobs) %}
        {% do jobs.pop(job_type) %}
        {% do dbt_cdc._change_jobs(
            'delete from ' ~ dbt_cdc._state_relation('cdc_jobs')
            ~ " where job_type = '" ~ job_type ~ "'", jobs, dry_run
        ) %}
    {% endif %}
{% endmacro %}


{#- Run-operation: prints the jobs. -#}
{% macro help_jobs() %}
    {% if execute %}
        {% do dbt_cdc._print_jobs(dbt_cdc._jobs()) %}
    {% endif %}
{% endmacro %}


{#- Run-operation: asks a running agent to start a job, with the parameters that cdc_jobs then has. -#}
{% macro start_job(job_type='capture', dry_run=false) %}
    {% do dbt_cdc._ask_agent(job_type, 'start', dry_run) %}
{% endmacro %}


{#- Run-operation: asks a running agent to stop a job; the scan in hand is finished. -#}
{% macro stop_job(job_type='capture', dry_run=false) %}
    {% do dbt_cdc._ask_agent(job_type, 'stop', dry_run) %}
{% endmacro %}


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


{#- With the first instance, as SQL Server, which starts both jobs then. -#}
{% macro _tell_of_jobs() %}
    {% do dbt_cdc._log_line(
        "Job '" ~ dbt_cdc._job_name('capture') ~ "' started successfully: it is this run, and each one after it"
    ) %}
    {% do dbt_cdc._log_line(
        "Job '" ~ dbt_cdc._job_name('cleanup') ~ "' " ~ ('is started by the agent' if dbt_cdc._agent_seen_at()
            else 'is to be scheduled daily: dbt run-operation cleanup; `' ~ dbt_cdc._agent_command()
            ~ '` runs both jobs')
    ) %}
{% endmacro %}


{% macro _no_agent(job_type) %}
    {% do return(
        "no agent runs that could start or stop job '" ~ dbt_cdc._job_name(job_type)
        ~ "'; start one with `" ~ dbt_cdc._agent_command() ~ '`'
    ) %}
{% endmacro %}


{#- In a project that installs the package there is no Makefile. -#}
{% macro _agent_command() %}
    {% do return('make agent' if project_name == 'dbt_cdc' else 'python dbt_packages/dbt_cdc/scripts/agent.py') %}
{% endmacro %}
