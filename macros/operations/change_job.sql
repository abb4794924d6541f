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
