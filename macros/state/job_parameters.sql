{#- The parameters of the capture job and the cleanup job, kept in cdc_jobs. A change takes effect when
    the job next starts. -#}

{#- The jobs: {capture: {...}, cleanup: {...}}; parameters of the other job are 0. What cdc_jobs holds, and as
    long as nobody has asked for a change, the defaults. -#}
{% macro _jobs() %}
    {% do return(dbt_cdc._default_jobs()) if not dbt_cdc._has_state('cdc_jobs') %}
    {% set rows = dbt_cdc._fetch(
        'select job_id, job_type, maxtrans, maxscans, continuous, pollinginterval, retention, '
        ~ 'threshold, is_threshold_given from ' ~ dbt_cdc._state_relation('cdc_jobs') ~ ' order by job_type'
    ) %}
    {% do return(dict(zip(rows | map(attribute='job_type'), rows))) %}
{% endmacro %}


{#- SQL Server's defaults. -#}
{% macro _default_jobs() %}
    {% set id = target.schema ~ '.' %}
    {% do return({
        'capture': {
            'job_id': local_md5(id ~ 'capture'), 'job_type': 'capture', 'maxtrans': 500, 'maxscans': 10, 'continuous': true,
            'pollinginterval': 5, 'retention': 0, 'threshold': 0, 'is_threshold_given': false,
        },
        'cleanup': {
            'job_id': local_md5(id ~ 'cleanup'), 'job_type': 'cleanup', 'maxtrans': 0, 'maxscans': 0, 'continuous': false,
            'pollinginterval': 0, 'retention': 4320, 'threshold': 5000, 'is_threshold_given': false,
        },
    }) %}
{% endmacro %}


{#- The most rows that a DELETE takes: what somebody has given the cleanup job. As long as nobody has, SQL Server's
    default is shown, which spares it row locks, and what suits Delta's files is done (docs/decisions/0005). -#}
{% macro _rows_of_a_delete(job=none) %}
    {% do return(job.threshold if job and job.is_threshold_given else 10000000) %}
{% endmacro %}


{#- The jobs there are, where what is given for one of them is right. -#}
{% macro _checked_jobs(job_type, given) %}
    {% do dbt_cdc._check_job(job_type, given) %}
    {% do return(dbt_cdc._jobs()) %}
{% endmacro %}


{#- Makes a change of the jobs, unless it is only tried, and prints what there is then. -#}
{% macro _change_jobs(statement, jobs, dry_run) %}
    {% if not dry_run %}
        {% do dbt_cdc._make_jobs() %}
        {% do run_query(statement) %}
    {% endif %}
    {% do dbt_cdc._print_jobs(jobs) %}
{% endmacro %}


{#- The jobs with their names. -#}
{% macro _print_jobs(jobs) %}
    {% set rows = [] %}
    {% for job in jobs.values() %}
        {% set row = {'job_id': job.job_id, 'job_type': job.job_type, 'job_name': dbt_cdc._job_name(job.job_type)} %}
        {% set row = dict(row, **job) %}
        {% do row.update(threshold=dbt_cdc._shown_threshold(job)) %}
        {% do row.pop('is_threshold_given', none) %}
        {% do rows.append(row) %}
    {% endfor %}
    {% do dbt_cdc._print_rows(rows) %}
{% endmacro %}


{#- What stands for SQL Server's default is said beside it. -#}
{% macro _shown_threshold(job) %}
    {% do return(
        job.threshold if job.job_type != 'cleanup' or job.is_threshold_given
        else job.threshold ~ ' (default: ' ~ dbt_cdc._rows_of_a_delete(job) ~ ' on Delta)'
    ) %}
{% endmacro %}


{#- As SQL Server names them; the schema stands for the database. -#}
{% macro _job_name(job_type) %}
    {% do return('cdc.' ~ dbt_cdc._state_relation('change_tables').schema ~ '_' ~ job_type) %}
{% endmacro %}


{% macro _find_job(job_type, jobs) %}
    {% set job = jobs.get(job_type) %}
    {% do dbt_cdc.raise_cdc_error(
        22997, "the job '" ~ job_type ~ "' does not exist", 'make it with add_job'
    ) if not job %}
    {% do return(job) %}
{% endmacro %}


{#- Makes cdc_jobs with both jobs in it, in one commit: a project that dropped one keeps it dropped. -#}
{% macro _make_jobs() %}
    {% if not dbt_cdc._has_state('cdc_jobs') %}
        {% set table, jobs = dbt_cdc._state_relation('cdc_jobs'), dbt_cdc._default_jobs() %}
        {% do adapter.create_schema(table) %}
        {% do run_query(dbt_cdc._create_once(
            'create table if not exists ' ~ table ~ ' using ' ~ dbt_cdc._file_format() ~ ' as '
            ~ dbt_cdc._state_rows(
                'cdc_jobs', [dict(jobs.capture, database_id=0), dict(jobs.cleanup, database_id=0)])
        )) %}
        {% do dbt_cdc._remember(table) %}
    {% endif %}
{% endmacro %}


{#- A job with what is given. One that does not run on and on has no pauses; pauses mean that it does. One that does
    again has the default ones. -#}
{% macro _changed_job(job, given) %}
    {% set changed = dict(job) %}
    {% for name, value in given.items() if value is not none %}
        {% do changed.update({name: value}) %}
    {% endfor %}
    {% do changed.update(
        is_threshold_given=job.is_threshold_given or given.threshold is not none,
        continuous=changed.continuous in [true, 1]
            or given.continuous is none and (given.pollinginterval or 0) > 0
    ) %}
    {% do changed.update(pollinginterval=0) if not changed.continuous %}
    {% do changed.update(pollinginterval=dbt_cdc._default_jobs().capture.pollinginterval)
        if changed.continuous and not job.continuous and given.pollinginterval is none %}
    {% do return(changed) %}
{% endmacro %}


{#- The ranges, each with SQL Server's error number. -#}
{% macro _check_job(job_type, given) %}
    {% do dbt_cdc.raise_cdc_error(
        22992, "job_type '" ~ (job_type if job_type is not none else 'NULL') ~ "' is unknown",
        "give 'capture' or 'cleanup'"
    ) if job_type not in ['capture', 'cleanup'] %}
    {% set others = {
        'capture': (22995, ['retention', 'threshold']),
        'cleanup': (22996, ['maxtrans', 'maxscans', 'continuous', 'pollinginterval']),
    } %}
    {% set number, names = others[job_type] %}
    {% for name in names if given.get(name) is not none %}
        {% do dbt_cdc.raise_cdc_error(
            number, name ~ ' is no parameter of the ' ~ job_type ~ ' job', 'leave it out'
        ) %}
    {% endfor %}
    {% set ranges = {
        'maxtrans': (22991, 1, 2147483647), 'maxscans': (22970, 1, 2147483647),
        'continuous': (22998, 0, 1), 'pollinginterval': (22990, 0, 86399),
        'retention': (22994, 1, dbt_cdc._most_minutes()), 'threshold': (22850, 1, 9223372036854775807),
    } %}
    {% for name, value in given.items() if value is not none %}
        {% set number, low, high = ranges[name] %}
        {% do dbt_cdc.raise_cdc_error(
            number, name ~ ' is ' ~ value, 'give a whole number from ' ~ low ~ ' to ' ~ high
        ) if value is not integer and not (name == 'continuous' and value is boolean)
            or value < low or value > high %}
    {% endfor %}
{% endmacro %}
