{#- Rows of mschange_tracking_history: what each cleanup of change tracking did. -#}

{#- Steps that are no table's, and tables that had nothing to remove. -#}
{% macro _note_steps(cleanup, started, steps, tables=[]) %}
    {% set rows, times = [], {'start_time': started, 'end_time': 'now'} %}
    {% for table in tables %}
        {% do rows.append(dict(
            times, internal_table_name=table.name, table_name=table.table, rows_cleaned_up=0,
            cleanup_version=table.mark)) %}
    {% endfor %}
    {% for step in steps %}
        {% do rows.append(dict(times, cleanup_version=cleanup.version, comments=step)) %}
    {% endfor %}
    {% do dbt_cdc._insert_state('mschange_tracking_history', rows) %}
{% endmacro %}


{#- The retention, and the time of the last commit that it does not keep. -#}
{% macro _retention_step(settings, cleanup) %}
    {% set last = dbt_cdc._fetch(
        "select date_format(max(commit_time), 'yyyy-MM-dd HH:mm:ss') as time from "
        ~ dbt_cdc._state_relation('syscommittab') ~ ' where commit_ts <= ' ~ cleanup.version)[0].time %}
    {% do return('UpdateRetention: ' ~ settings.retention_period ~ ' ' ~ settings.retention_period_units_desc
        ~ (', commits up to ' ~ last if last else ', no commit is older')) %}
{% endmacro %}


{% macro _now() %}
    {% do return(modules.datetime.datetime.now(modules.pytz.utc).strftime('%Y-%m-%d %H:%M:%S.%f')) %}
{% endmacro %}
