{#- The parameters of the capture job and the cleanup job, kept in cdc_jobs. A change takes effect when
    the job next starts. -#}

{#- Run-operation: makes a job; what is not given is the default. -#}
{% macro add_job(
    job_type, start_job=true, maxtrans=none, maxscans=none, continuous=none, pollinginterval=none,
    retention=none, threshold=none
) %}
    {% do dbt_cdc._declare_state() %}
    {% if execute %}
        {% do dbt_cdc._ensure_state_tables() %}
        {% set given = dict(
            maxtrans=maxtrans, maxscans=maxscans, continuous=continuous,
            pollinginterval=pollinginterval, retention=retention, threshold=threshold) %}
        {% do dbt_cdc._check_job(job_type, given) %}
        {% if dbt_cdc._jobs().get(job_type) %}
            {% do dbt_cdc.raise_cdc_error(
                14261, "the job '" ~ job_type ~ "' already exists", 'change it with change_job'
            ) %}
        {% endif %}
        {% set job = dbt_cdc._changed_job(dbt_cdc._default_jobs()[job_type], given) %}
        {% do run_query('insert into ' ~ dbt_cdc._state_relation('cdc_jobs') ~ ' '
            ~ dbt_cdc._job_row_sql(job)) %}
        {% do dbt_cdc.help_jobs() %}
    {% endif %}
{% endmacro %}


{#- Run-operation: changes what is given, leaves the rest. -#}
{% macro change_job(
    job_type='capture', maxtrans=none, maxscans=none, continuous=none, pollinginterval=none,
    retention=none, threshold=none
) %}
    {% do dbt_cdc._declare_state() %}
    {% if execute %}
        {% do dbt_cdc._ensure_state_tables() %}
        {% set given = dict(
            maxtrans=maxtrans, maxscans=maxscans, continuous=continuous,
            pollinginterval=pollinginterval, retention=retention, threshold=threshold) %}
        {% do dbt_cdc._check_job(job_type, given) %}
        {% set job = dbt_cdc._changed_job(dbt_cdc._find_job(job_type), given) %}
        {% set assignments = [] %}
        {% for name in given %}
            {% do assignments.append(name ~ ' = ' ~ job[name] | lower) %}
        {% endfor %}
        {% do run_query('update ' ~ dbt_cdc._state_relation('cdc_jobs') ~ ' set '
            ~ assignments | join(', ') ~ " where job_type = '" ~ job_type ~ "'") %}
        {% do dbt_cdc.help_jobs() %}
    {% endif %}
{% endmacro %}


{#- Run-operation: removes a job. -#}
{% macro drop_job(job_type) %}
    {% do dbt_cdc._declare_state() %}
    {% if execute %}
        {% do dbt_cdc._ensure_state_tables() %}
        {% do dbt_cdc._check_job(job_type, {}) %}
        {% do dbt_cdc._find_job(job_type) %}
        {% do run_query('delete from ' ~ dbt_cdc._state_relation('cdc_jobs')
            ~ " where job_type = '" ~ job_type ~ "'") %}
        {% do dbt_cdc.help_jobs() %}
    {% endif %}
{% endmacro %}


{#- Run-operation: prints the jobs. -#}
{% macro help_jobs() %}
    {% do dbt_cdc._declare_state() %}
    {% if execute %}
        {% do dbt_cdc._ensure_state_tables() %}
        {% set rows = [] %}
        {% for job in dbt_cdc._jobs().values() %}
            {% do rows.append(job) %}
        {% endfor %}
        {% do dbt_cdc._print_rows(rows) %}
    {% endif %}
{% endmacro %}
