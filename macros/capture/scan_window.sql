{#- The window that change tables capture and the publication publishes, resolved once in a command and only
    by reading: {previous_lsn, to_lsn, floor_lsn, published, ...}. `previous_lsn` is exclusive, `to_lsn`
    inclusive and none where there is nothing to capture; `floor_lsn` is the first record of any transaction
    that commits in the window; `published` lists the instances that were part of the last publication. It is
    the one that stands open; where none does, `dbt compile` takes the one that a run would open. Unit tests
    override this macro. -#}
{% macro scan_window() %}
    {% set cache = dbt_cdc._invocation_cache() %}
    {% if 'window' not in cache %}
        {% set window = dbt_cdc._window_to_scan() %}
        {% if window.log_end %}
            {% set window = dict(window, to_lsn=none, is_missing=true) if dbt_cdc._is_building()
                else dbt_cdc._window_before_a_run(window) %}
        {% endif %}
        {% if window.to_lsn %}
            {% do dbt_cdc._plan_instances(window, enters_new=not dbt_cdc._is_building()) %}
            {% do window.update(versions=dbt_cdc._window_versions(window)) %}
            {% do dbt_cdc._enter_phase(3) %}
        {% endif %}
        {% do cache.update(window=window) %}
    {% endif %}
    {% do return(cache.window) %}
{% endmacro %}


{#- Where the scan stands: an open window, or with `log_end` the bounds of the one that is to be opened. -#}
{% macro _window_to_scan() %}
    {% set cache = dbt_cdc._invocation_cache() %}
    {% if 'window_to_scan' not in cache %}
        {% set is_readable = execute and not flags.EMPTY and not dbt_cdc._is_unit_test()
            and dbt_cdc._participants() and load_cached_relation(dbt_cdc._log_relation()) is not none %}
        {% if is_readable %}
            {% set state = dbt_cdc._published_state() %}
            {% set window = dbt_cdc._with_state(dbt_cdc._find_work(state.scanned_lsn), state) %}
        {% endif %}
        {% do cache.update(window_to_scan=window or dbt_cdc._no_window()) %}
    {% endif %}
    {% do return(cache.window_to_scan) %}
{% endmacro %}


{% macro _no_window() %}
    {% set zero = dbt_cdc._zero_lsn() %}
    {% do return({'previous_lsn': zero, 'to_lsn': none, 'floor_lsn': zero, 'published': []}) %}
{% endmacro %}


{#- A window with what is published before it. -#}
{% macro _with_state(window, state) %}
    {% do return(dict(
        window, state=state, published=dbt_cdc._published_instances(state), log=dbt_cdc._log_relation(),
        ended=dbt_cdc._ended_instances(state),
        abandoned=state.intervals.keys() | reject('in', dbt_cdc._capture_instances().keys()) | sort
    )) %}
{% endmacro %}


{#- The window that a run would open, its transactions taken out of the log instead of scan_transactions. -#}
{% macro _window_before_a_run(window) %}
    {% set transactions -%}
        (
            {{ dbt_cdc._indent(dbt_cdc._scan_rows(window), 12) }}
        )
    {%- endset %}
    {% set rows = dbt_cdc._fetch(dbt_cdc._open_windows_sql(window.previous_lsn, transactions)) %}
    {% do return(dict(
        window, transactions_relation=transactions, **dbt_cdc._window_of(rows[0], window.previous_lsn)
    )) %}
{% endmacro %}


{#- What the window's transactions are read from. -#}
{% macro _transactions_of(window) %}
    {% do return(window.transactions_relation or dbt_cdc._state_relation('scan_transactions')) %}
{% endmacro %}


{#- The window as one instance sees it: until it is published an instance starts at its low end, which may lie
    before the window: at the log's start, or where windows were published without it (`is_backfill`); one that
    takes over from another starts at that LSN. One that ended has an `end_lsn`, the first that it lacks. Of the
    commit at `emptied_lsn` it has what is behind `emptied_place`, where its table was emptied. -#}
{% macro _instance_window(instance, window) %}
    {% set window = dict(
        window, log=window.log or dbt_cdc._log_relation(),
        transactions_relation=dbt_cdc._transactions_of(window)
    ) %}
    {% set registered = instance.get('registered') or {} %}
    {% set is_late = instance.name | lower not in window.published
        and window.previous_lsn != dbt_cdc._zero_lsn() %}
    {% set previous_lsn = dbt_cdc._zero_lsn() if instance.capture_from == 'log_start'
        else dbt_cdc.decrement_lsn(registered.start_lsn) if registered else window.previous_lsn %}
    {% set plan = dbt_cdc._invocation_cache().get('plans', {}).get(instance.name | lower, {}) %}
    {% do window.update(
        is_backfill=is_late and previous_lsn < window.previous_lsn, end_lsn=registered.get('end_lsn'),
        emptied_lsn=plan.get('emptied_lsn'), emptied_place=plan.get('emptied_place')
    ) %}
    {% do window.update(previous_lsn=previous_lsn) if is_late %}
    {% do window.update(floor_lsn=dbt_cdc._zero_lsn()) if window.is_backfill %}
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
