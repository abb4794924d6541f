{#- Where the scan stands: an open window, or with `log_end` the bounds of the one that is to be opened. Of several
    threads that of the first one counts: another run may have opened the next window between. -#}
{% macro _window_to_scan() %}
    {% set cache = dbt_cdc._invocation_cache() %}
    {% if 'window_to_scan' not in cache %}
        {% set is_readable = execute and not flags.EMPTY and not dbt_cdc._is_unit_test()
            and dbt_cdc._participants() and load_cached_relation(dbt_cdc._log_relation()) is not none %}
        {% if is_readable %}
            {% do dbt_cdc._check_reads_all() %}
            {% set state = dbt_cdc._published_state() %}
            {% set window = dbt_cdc._with_state(dbt_cdc._find_work(state), state) %}
        {% endif %}
        {% do cache.setdefault('window_to_scan', window or dbt_cdc._no_window()) %}
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
