{#- Rows of mschange_tracking_history: what each cleanup of change tracking did. -#}

{#- A row of mschange_tracking_history, as SQL. -#}
{% macro _history_row(internal_table_name, table_name, start_time, version, rows=none, is_ended=true, comments=none) %}
    {% do return('(' ~ [
        dbt_cdc._literal(internal_table_name), dbt_cdc._literal(table_name), start_time,
        'current_timestamp()' if is_ended else 'cast(null as timestamp)',
        rows if rows is not none else 'cast(null as bigint)', version, dbt_cdc._literal(comments),
    ] | join(', ') ~ ')') %}
{% endmacro %}


{% macro _note_history(rows) %}
    {% do run_query(
        'insert into ' ~ dbt_cdc._state_relation('mschange_tracking_history') ~ ' select * from values '
        ~ rows | join(', ')) %}
{% endmacro %}


{#- Steps that are no table's, as rows of mschange_tracking_history; and tables that had nothing to remove. -#}
{% macro _note_steps(cleanup, started, steps, tables=[]) %}
    {% set rows = [] %}
    {% for table in tables %}
        {% do rows.append(dbt_cdc._history_row(table.name, table.table, started, table.mark, rows=0)) %}
    {% endfor %}
    {% for step in steps %}
        {% do rows.append(dbt_cdc._history_row(none, none, started, cleanup.version, comments=step)) %}
    {% endfor %}
    {% do dbt_cdc._note_history(rows) %}
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
    {% do return("timestamp'" ~ modules.datetime.datetime.now(modules.pytz.utc).strftime('%Y-%m-%d %H:%M:%S.%f') ~ "'") %}
{% endmacro %}
