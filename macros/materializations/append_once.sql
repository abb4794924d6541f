{#- What the materializations change_table and change_tracking_table share: a table that is made if it is missing and
    never replaced, and the rows of a window in it once, whatever happens. The guard of the INSERT sees rows of the
    window that are already there, and on Delta makes two writers at once conflict (docs/decisions/0001). -#}

{% macro _make_missing(relation, existing, columns, window_column) %}
    {% if existing is none %}
        {% call statement('create') -%}
            {{ dbt_cdc._create_once(dbt_cdc._create_table_sql(relation, columns, window_column)) }}
        {%- endcall %}
    {% endif %}
{% endmacro %}


{#- Whether the table is in the catalog; dbt's list of tables may be older than what another run has made. -#}
{% macro _is_in_catalog(relation) %}
    {% do return(dbt_cdc._fetch(
        'show tables in ' ~ relation.without_identifier() ~ " like '" ~ relation.identifier ~ "'") | length > 0) %}
{% endmacro %}


{#- Whether there is a window to capture; where none is open because the scan was left out, the run says so. -#}
{% macro _is_capturing(window) %}
    {% do dbt_cdc._log_line(
        'no scan window is open, so ' ~ model.name ~ ' captures nothing; dbt run --select +' ~ model.name
        ~ ' opens one'
    ) if dbt_cdc._is_building() and window.is_missing %}
    {% do return(dbt_cdc._is_building() and window.to_lsn) %}
{% endmacro %}


{#- Gives how many rows are there `of_window`, and how many were before, as a run that died has left them: none where
    this one has opened the window. A backfill takes in windows before it. -#}
{% macro _append_once(relation, window, rows, of_window, is_there, diagnosis, is_first=false) %}
    {% set count_rows = 'select count(*) as row_count from ' ~ relation ~ ' where ' ~ of_window %}
    {% set is_new = window.get('is_opened_here', false) and not window.get('is_backfill', false) %}
    {% set before = 0 if is_new else dbt_cdc._fetch(count_rows)[0].row_count %}
    {% do return({'before': before, 'now': dbt_cdc._main_write_and_fetch(
        dbt_cdc._insert_once(relation, rows, is_there, is_first, diagnosis), count_rows)[0].row_count}) %}
{% endmacro %}


{#- `appended`: of _append_once, or none where there was nothing to append. -#}
{% macro _end_of_append(relation, captured, is_capturing, appended, existing, idle, grants=none) %}
    {% set appended = appended or {'before': 0, 'now': 0} %}
    {% do dbt_cdc._note_captured(captured, appended.now) if is_capturing %}
    {% do return(dbt_cdc._end_of_model(
        relation, idle, appended.now - appended.before, existing, existing is none, grants)) %}
{% endmacro %}
