{#- The scan window of this run, resolved once: {previous_lsn, to_lsn, floor_lsn, published}.
    `previous_lsn` is exclusive, `to_lsn` inclusive and none where there is nothing to capture;
    `floor_lsn` is the first record of any transaction that commits in the window; `published`
    lists the instances that were part of the last publication. A window that an earlier run left
    open is taken up again; unit tests override this macro. -#}
{% macro scan_window() %}
    {% set cache = dbt_cdc._invocation_cache() %}
    {% if 'window' not in cache %}
        {% if dbt_cdc._is_building() %}
            {% do cache.update(window=dbt_cdc._resolve_scan_window()) %}
        {% else %}
            {% do return(dbt_cdc._no_window()) %}
        {% endif %}
    {% endif %}
    {% do return(cache.window) %}
{% endmacro %}


{% macro _no_window() %}
    {% do return({
        'previous_lsn': dbt_cdc._zero_lsn(), 'to_lsn': none, 'floor_lsn': dbt_cdc._zero_lsn(),
        'published': [],
    }) %}
{% endmacro %}


{% macro _resolve_scan_window() %}
    {% do dbt_cdc._check_listed_instances() %}
    {% do dbt_cdc._ensure_state_tables() %}
    {% do dbt_cdc._enter_phase(2) %}
    {% set state = dbt_cdc._published_state() %}
    {% set window = dbt_cdc._find_work(state.scanned_lsn) %}
    {% if window.to_lsn or window.log_end %}
        {% set tracking = dbt_cdc._register_tracked_tables(state, window) %}
    {% endif %}
    {% if window.log_end and not window.to_lsn %}
        {% set window = dbt_cdc._open_window(state.scanned_lsn, window.log_end) %}
    {% endif %}
    {% do window.update(
        state=state, published=dbt_cdc._published_instances(state), log=dbt_cdc._log_relation(),
        ended=dbt_cdc._ended_instances(state),
        abandoned=state.intervals.keys() | reject('in', dbt_cdc._capture_instances().keys()) | sort
    ) %}
    {% do dbt_cdc._report_ended_instances(window) %}
    {% if window.to_lsn %}
        {% do dbt_cdc._invocation_cache().update(opened_window=window) %}
        {% do dbt_cdc._enter_phase(3) %}
        {% do dbt_cdc._register_instances(window) %}
        {% if tracking %}
            {% do window.update(versions=dbt_cdc._window_versions(window, **tracking)) %}
        {% endif %}
        {% do dbt_cdc._log_line(
            'scan window: after ' ~ window.previous_lsn ~ ' up to ' ~ window.to_lsn ~ ', '
            ~ window.transactions ~ ' transactions'
            ~ ('; an earlier run left it open, newer commits wait for the next run' if window.has_newer)
        ) %}
    {% else %}
        {% do dbt_cdc._log_line('nothing to capture after ' ~ window.previous_lsn) %}
    {% endif %}
    {% do return(window) %}
{% endmacro %}


{#- The window as one instance sees it: an instance that backfills starts at the log's start, one that
    takes over from another at that LSN; one that ended has an `end_lsn`, the first that it lacks. -#}
{% macro _instance_window(instance, window) %}
    {% set window = dict(window) %}
    {% set is_new = instance.name | lower not in window.published %}
    {% do window.update(is_backfill=(
        is_new and instance.capture_from == 'log_start'
        and window.previous_lsn != dbt_cdc._zero_lsn()
    )) %}
    {% if window.is_backfill %}
        {% do window.update(previous_lsn=dbt_cdc._zero_lsn(), floor_lsn=dbt_cdc._zero_lsn()) %}
    {% elif is_new and window.previous_lsn != dbt_cdc._zero_lsn() and instance.get('registered')
        and instance.registered.start_lsn > window.previous_lsn %}
        {% do window.update(previous_lsn=dbt_cdc.decrement_lsn(instance.registered.start_lsn)) %}
    {% endif %}
    {% do window.update(end_lsn=(instance.get('registered') or {}).get('end_lsn')) %}
    {% do return(window) %}
{% endmacro %}


{#- Whether the window holds any change of the instance's table. -#}
{% macro _is_touched(instance, window) %}
    {% do return(
        window.is_backfill
        or (dbt_cdc._source_of(instance) in window.touched_tables
            and (window.end_lsn or '0xG') > dbt_cdc.increment_lsn(window.previous_lsn))
    ) %}
{% endmacro %}


{% macro _source_of(instance) %}
    {% do return(
        {'source_schema': instance.source_schema, 'source_name': instance.source_name}
    ) %}
{% endmacro %}


{#- How far the run has come, by SQL Server's numbers (macros/monitoring/record_session.sql). -#}
{% macro _enter_phase(number) %}
    {% do dbt_cdc._invocation_cache().update(phase=number) %}
{% endmacro %}


{% macro _log_line(text) %}
    {% do log('cdc: ' ~ text, info=true) %}
{% endmacro %}
