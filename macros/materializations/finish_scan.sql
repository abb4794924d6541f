{#- Who has captured the window. What one command captures and publishes is kept in memory; what it leaves
    unpublished (a selection, a failure, one task for each model) is written into scan_progress at its end,
    where a later command's publication finds it. -#}

{#- Notes that this command has captured the window for one instance. -#}
{% macro _note_captured(instance, row_count) %}
    {% do dbt_cdc._invocation_cache().setdefault('captured', {}).update({instance.name | lower: row_count}) %}
{% endmacro %}


{#- Those that have not captured the window yet, in this command or in earlier ones; nor has what cannot follow its
    table, as where the instance that was to go on has been taken out since. -#}
{% macro _missing_captures(window) %}
    {% set captured = dbt_cdc._invocation_cache().get('captured', {}).keys() | list %}
    {% do captured.extend(dbt_cdc._fetch(
        'select distinct capture_instance from ' ~ dbt_cdc._state_relation('scan_progress')
        ~ " where window_to_lsn = '" ~ window.to_lsn ~ "'"
    ) | map(attribute='capture_instance'))
        if dbt_cdc._participants().keys() | reject('in', captured) | list %}
    {% set missing = dbt_cdc._participants().keys() | reject('in', captured) | list %}
    {% for name, plan in dbt_cdc._invocation_cache().get('plans', {}).items() if plan.problem %}
        {% do missing.append(name) %}
    {% endfor %}
    {% do return(missing | unique | sort) %}
{% endmacro %}


{#- The on-run-end hook; `results` is what dbt says of the run's nodes. With --sample nothing was captured or
    consumed. -#}
{% macro finish_scan(results) %}
    {% if execute and not dbt_cdc._is_sample() and dbt_cdc._is_building() %}
        {% set cache = dbt_cdc._invocation_cache() %}
        {% do dbt_cdc._move_bookmarks(results) %}
        {% do dbt_cdc._leave_open(cache.window, cache.captured.keys())
            if cache.get('captured') and not cache.get('is_published') %}
        {% do dbt_cdc._report_waiting(results) %}
        {% do dbt_cdc._record_session(results) %}
        {% do dbt_cdc._report_new_columns(cache.window) if cache.get('is_published') %}
    {% endif %}
{% endmacro %}


{% macro _leave_open(window, captured) %}
    {% set rows = [] %}
    {% for name in captured %}
        {% do rows.append({'window_to_lsn': window.to_lsn, 'capture_instance': name}) %}
    {% endfor %}
    {% do dbt_cdc._insert_state('scan_progress', rows) %}
    {% set missing = dbt_cdc._missing_captures(window) %}
    {% do dbt_cdc._log_line('the window up to ' ~ window.to_lsn ~ ' stays open: ' ~ (
        missing | join(', ') ~ ' did not capture it; the next run takes it up again' if missing
        else 'all have captured it; dbt run --select lsn_time_mapping publishes it'
    )) %}
{% endmacro %}
