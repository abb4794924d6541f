{#- Appends the window's rows once, whatever happens: the guard of the INSERT sees rows of the
    window that are already there, and on Delta makes two writers at once conflict
    (docs/decisions/0001). The table is made if it is missing and never replaced. -#}
{% materialization change_table, default %}
    {% set relation = this.incorporate(type='table') %}
    {% set instance = dbt_cdc._current_instance(model) %}
    {% do dbt_cdc._check_role(instance) %}
    {% set window = dbt_cdc._instance_window(instance, dbt_cdc.scan_window()) %}

    {{ run_hooks(pre_hooks) }}

    {% set existing = load_cached_relation(this) %}
    {% if existing is none %}
        {% call statement('create') -%}
            {{ dbt_cdc._create_once(dbt_cdc._create_table_sql(
                relation, dbt_cdc._change_table_columns(instance), '__$start_lsn')) }}
        {%- endcall %}
    {% endif %}

    {% set is_capturing = dbt_cdc._is_capturing(window) %}
    {% if is_capturing and dbt_cdc._is_touched(instance, window) %}
        {% set rows = dbt_cdc._declared_rows(instance, dbt_cdc._as_written(compiled_code)) %}
        {% set count_rows = dbt_cdc._count_of_window(relation, window) %}
        {% set rows_before = dbt_cdc._rows_before(window, count_rows) %}
        {% do dbt_cdc._log_line(
            model.name ~ ' has rows of the open window already; SQL around change_table() that was edited meanwhile '
            ~ 'counts from the next window on'
        ) if rows_before and dbt_cdc._is_edited(model) %}
        {% set row_count = dbt_cdc._append_changes(relation, instance, window, rows, count_rows) %}
        {% do dbt_cdc._tell_lost_values(instance, window) %}
    {% endif %}
    {% do dbt_cdc._note_captured(instance, row_count or 0) if is_capturing %}

    {% do return(dbt_cdc._end_of_model(
        relation, 'nothing to capture', (row_count or 0) - (rows_before or 0), existing, existing is none,
        dbt_cdc._grants_with_role(instance))) %}
{% endmaterialization %}


{#- Whether there is a window to capture; where none is open because the scan was left out, the run says so. -#}
{% macro _is_capturing(window) %}
    {% if dbt_cdc._is_building() and window.is_missing %}
        {% do dbt_cdc._log_line(
            'no scan window is open, so ' ~ model.name ~ ' captures nothing; dbt run --select +' ~ model.name
            ~ ' opens one'
        ) %}
    {% endif %}
    {% do return(dbt_cdc._is_building() and window.to_lsn) %}
{% endmacro %}


{#- The window's rows into the change table, unless they are there. A backfill spans windows, of which the table may
    have some: it looks at each commit. Gives how many rows of the window are there. -#}
{% macro _append_changes(relation, instance, window, rows, count_rows) %}
    {% set encoded = dbt_cdc._with_encodings(instance, window) %}
    {% set is_there = '`__$start_lsn` = appended.`__$start_lsn`' if window.is_backfill
        else "`__$start_lsn` > '" ~ window.previous_lsn ~ "'" %}
    {% do return(dbt_cdc._main_write_and_fetch(
        dbt_cdc._insert_once(
            relation, rows, is_there, dbt_cdc._is_first_writer(instance, window),
            dbt_cdc._raise_first_problem(encoded, dbt_cdc._checked_changes(encoded, window))
        ),
        count_rows
    )[0].row_count) %}
{% endmacro %}


{% macro _count_of_window(relation, window) %}
    {% do return('select count(*) as row_count from ' ~ relation ~ " where `__$start_lsn` > '" ~ window.previous_lsn
        ~ "' and `__$start_lsn` <= '" ~ window.to_lsn ~ "'") %}
{% endmacro %}


{#- How many rows of the window are there before this run writes, as a run that died has left them: none where this
    one has opened the window. A backfill takes in windows before it. -#}
{% macro _rows_before(window, count_rows) %}
    {% set is_new = window.get('is_opened_here', false) and not window.get('is_backfill', false) %}
    {% do return(0 if is_new else dbt_cdc._fetch(count_rows)[0].row_count) %}
{% endmacro %}


{#- The rows of the model's SQL, in the order of the change table's columns. What is around change_table() may
    leave rows out and mask values; it gives the same columns. -#}
{% macro _declared_rows(instance, rows) %}
    {% if not dbt_cdc._is_edited(model) %}
        {% do return(rows) %}
    {% endif %}
    {% set wanted = dbt_cdc._change_table_columns(instance).keys() | list %}
    {% set found = run_query('describe query ' ~ rows).columns[0].values() | list %}
    {% if found | map('lower') | sort != wanted | map('lower') | sort %}
        {% do dbt_cdc.raise_cdc_error(
            22942, 'the SQL of model ' ~ model.name ~ ' gives the columns ' ~ found | join(', ')
            ~ ' where its YAML declares ' ~ wanted | join(', '),
            'put a filter or a mask around change_table() that gives the same columns'
        ) %}
    {% endif %}
    {% do return('select ' ~ dbt_cdc._quoted(wanted) | join(', ') ~ ' from (\n' ~ rows ~ '\n)') %}
{% endmacro %}


{#- Whether no row of the window can be there yet, so that no guard has to look: this run has opened the
    window, the instance is in the last publication, and no other process can write. The last is what the
    agent says of its embedded Spark. -#}
{% macro _is_first_writer(instance, window) %}
    {% do return(
        env_var('DBT_CDC_SINGLE_WRITER', 'false') == 'true'
        and window.get('is_opened_here', false)
        and instance.name | lower in window.published
    ) %}
{% endmacro %}
