{#- Run-operation: changes what is given, leaves the rest. -#}
{% macro change_job(
    job_type='capture', maxtrans=none, maxscans=none, continuous=none, pollinginterval=none,
    retention=none, threshold=none, dry_run=false
) %}
    {% if execute %}
        {% set dry_run = dbt_cdc._as_boolean('dry_run', dry_run) %}
        {% set given = dict(
            maxtrans=maxtrans, maxscans=maxscans, continuous=continuous,
            pollinginterval=pollinginterval, retention=retention, threshold=threshold) %}
        {% set jobs = dbt_cdc._checked_jobs(job_type, given) %}
        {% set job = dbt_cdc._changed_job(dbt_cdc._find_job(job_type, jobs), given) %}
        {% do jobs.update({job_type: job}) %}
        {% set values = {} %}
        {% for name in given.keys() | list + ['is_threshold_given'] %}
            {% do values.update({name: job[name] | lower}) %}
        {% endfor %}
        {% do dbt_cdc._change_jobs(dbt_cdc._in_turn(dbt_cdc._update_state_sql(
            'cdc_jobs', values, "job_type = '" ~ job_type ~ "'")), jobs, dry_run) %}
    {% endif %}
{% endmacro %}
