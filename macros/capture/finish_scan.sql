{#- Who has captured the window. In one run that takes in all tables this is kept in memory, and the
    last table publishes; across runs (a selection, a failure, one task for each table) it is kept
    in scan_progress, and the run that completes the window publishes it. -#}

{% macro _mark_captured(instance, row_count) %}
    {% set cache = dbt_cdc._invocation_cache() %}
    {% set captured = cache.setdefault('captured', {}) %}
    {% do captured.update({instance.name | lower: row_count}) %}
    {% if captured | length == dbt_cdc._participants() | length
        and cache.setdefault('publisher', instance.name) == instance.name %}
        {% do dbt_cdc._publish_window(cache.window) %}
    {% endif %}
{% endmacro %}


{#- Who has to capture a window before it is published: capture instances and tracked tables, by name. -#}
{% macro _participants() %}
    {% do return(dict(dbt_cdc._capture_instances(), **dbt_cdc._tracked_tables())) %}
{% endmacro %}


{#- The on-run-end hook; `results` is what dbt says of the run's nodes. -#}
{% macro finish_scan(results) %}
    {% do dbt_cdc._declare_state() %}
    {% if dbt_cdc._is_building() %}
        {% set cache = dbt_cdc._invocation_cache() %}
        {% set captured = cache.get('captured', {}).keys() | list %}
        {% if captured and not cache.get('is_published') %}
            {% do dbt_cdc._finish_partly_captured(cache.window, captured) %}
        {% endif %}
        {% do dbt_cdc._record_session(results) %}
        {% do dbt_cdc._report_new_columns(cache.opened_window) if cache.get('is_published') %}
    {% endif %}
{% endmacro %}


{% macro _finish_partly_captured(window, captured) %}
    {% set progress = dbt_cdc._state_relation('scan_progress') %}
    {% do run_query(
        'insert into ' ~ progress ~ " select '" ~ window.to_lsn ~ "', col1 from values ('"
        ~ captured | join("'), ('") ~ "')"
    ) %}
    {% set done = dbt_cdc._fetch(
        'select distinct capture_instance from ' ~ progress
        ~ " where window_to_lsn = '" ~ window.to_lsn ~ "'"
    ) | map(attribute='capture_instance') | list %}
    {% set missing = dbt_cdc._participants().keys() | reject('in', done) | sort %}
    {% if missing %}
        {% do dbt_cdc._log_line(
            'the window up to ' ~ window.to_lsn ~ ' stays open: '
            ~ missing | join(', ') ~ ' did not capture it; the next run takes it up again'
        ) %}
    {% else %}
        {% do dbt_cdc._publish_window(window) %}
    {% endif %}
{% endmacro %}
