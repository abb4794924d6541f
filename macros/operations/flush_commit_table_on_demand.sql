{#- Run-operation (sys.sp_flush_commit_table_on_demand): removes at most `numrows` transactions, the
    oldest first, that all side tables are clean of. Prints the output parameters, then SQL Server's
    messages. -#}
{% macro flush_commit_table_on_demand(numrows=100000, dry_run=false) %}
    {% if execute %}
        {% set dry_run = dbt_cdc._as_boolean('dry_run', dry_run) %}
        {% do dbt_cdc._check_enabled() %}
        {% do dbt_cdc._ensure_state_tables('tracking') %}
        {% do dbt_cdc.raise_cdc_error(
            22850, 'numrows is ' ~ numrows, 'give a number of rows above 0, or leave it out'
        ) if numrows is not number or numrows is boolean or numrows < 1 %}
        {% set hardened = dbt_cdc._tracking_settings().hardened_cleanup_version %}
        {% set first = dbt_cdc._fetch(
            'select min(commit_ts) as version from ' ~ dbt_cdc._state_relation('syscommittab')
        )[0].version %}
        {#- versions have no gaps -#}
        {% set mark = [hardened, (first or 1) | int + numrows | int - 1] | min %}
        {% set last = dbt_cdc._fetch(
            "select date_format(max(commit_time), 'yyyy-MM-dd HH:mm:ss') as time, max(commit_ts) as version "
            ~ 'from ' ~ dbt_cdc._state_relation('syscommittab') ~ ' where commit_ts <= ' ~ mark)[0] %}
        {% set removed = [mark - (first or 1) | int + 1, 0] | max if dry_run
            else dbt_cdc._clean_versions(dbt_cdc._state_relation('syscommittab'), 'commit_ts', mark) %}
        {% do dbt_cdc.raise_cdc_error(
            22123, 'cleanup of syscommittab failed',
            'another write may have overtaken it: run it again'
        ) if removed == 'failed' %}
        {% do dbt_cdc._print_rows([{
            'deleted_rows': removed or 0, 'date_cleanedup': last.time, 'cleanup_ts': last.version
        }]) %}
        {% for name in ['change_tracking_hardened_cleanup_version', 'safe_cleanup_version'] %}
            {% do log('The value returned by ' ~ name ~ '() is ' ~ hardened ~ '.', info=true) %}
        {% endfor %}
        {% do log(
            ('Would delete ' if dry_run else 'Deleted ') ~ (removed or 0) ~ ' rows from syscommittab.',
            info=true
        ) %}
    {% endif %}
{% endmacro %}
