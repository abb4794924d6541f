{#- Run-operation: prints the LSN below which capture needs nothing of the log any more: the first record
    of a transaction that was open at the end of the last published window or is in an unfinished one,
    else the last commit of that window, by which the next scan knows that nothing is missing. -#}
{% macro log_truncation_point() %}
    {% if execute %}
        {% do dbt_cdc._check_enabled() %}
        {% do dbt_cdc._print_rows([{'log_truncation_point': dbt_cdc._log_truncation_point()}]) %}
    {% endif %}
{% endmacro %}


{#- An instance that backfills needs all of the log until it is published, also while its model is away. -#}
{% macro _log_truncation_point() %}
    {% set state = dbt_cdc._published_state() %}
    {% set published = dbt_cdc._published_instances(state) %}
    {% for name, instance in dbt_cdc._capture_instances().items()
        if name not in published and (instance.capture_from == 'log_start'
            or state.intervals.get(name, {}).get('low_end', '0xG') <= state.scanned_lsn) %}
        {% do return(dbt_cdc._zero_lsn()) %}
    {% endfor %}
    {% for instance in dbt_cdc._registered_instances('end_lsn is null')
        if instance.capture_instance | lower not in published and instance.low_end <= state.scanned_lsn %}
        {% do return(dbt_cdc._zero_lsn()) %}
    {% endfor %}
    {% do return(dbt_cdc._zero_lsn()) if not published and state.scanned_lsn == dbt_cdc._zero_lsn()
        or not dbt_cdc._has_state('scan_transactions') %}
    {% set needed = dbt_cdc._fetch(
        'select min(begin_lsn) as lsn from ' ~ dbt_cdc._state_relation('scan_transactions')
        ~ " where window_to_lsn > '" ~ state.scanned_lsn ~ "' or (window_to_lsn = '"
        ~ state.scanned_lsn ~ "' and commit_lsn is null)"
    )[0].lsn %}
    {% do return([needed or state.scanned_lsn, dbt_cdc._first_open_lsn(state.scanned_lsn), state.scanned_lsn] | min) %}
{% endmacro %}


{#- Where COMMITs tell their transactions, the state knows none that is open. -#}
{% macro _first_open_lsn(scanned_lsn) %}
    {% set log = dbt_cdc._log_relation() %}
    {% if load_cached_relation(log) is not none and dbt_cdc._log_has(log, 'transaction') %}
        {% set open_log = dbt_cdc._log_of_open(log, scanned_lsn) %}
        {% set first_lsn = dbt_cdc._fetch(
            'select min(begin_lsn) as lsn from (\n    ' ~ dbt_cdc._indent(dbt_cdc._found_transactions(
                open_log, dbt_cdc._zero_lsn(), '0x' ~ 'F' * 20, none), 4)
            ~ '\n)\nwhere coalesce(commit_lsn > ' ~ dbt_cdc._literal(scanned_lsn) ~ ', true)'
        )[0].lsn %}
    {% endif %}
    {% do return(first_lsn or '0xG') %}
{% endmacro %}
