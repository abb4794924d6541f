{#- What this run did as the capture job: one row in scan_sessions, and its errors in dm_cdc_errors. -#}
{% macro _record_session(results) %}
    {#- before the first scan has begun there is no table of sessions -#}
    {% set errors = dbt_cdc._scan_errors(results) %}
    {% if (dbt_cdc._has_captured(results) or errors) and dbt_cdc._has_state('scan_sessions') %}
        {#- a part without the scan that had no window to capture tells nothing of the log -#}
        {% set has_scanned = results | map(attribute='node.config.materialized') | select('eq', 'scan') | list %}
        {% do dbt_cdc._enter_session(dbt_cdc._session(errors))
            if errors or has_scanned or dbt_cdc._invocation_cache().get('window', {}).to_lsn %}
    {% endif %}
{% endmacro %}


{% macro _enter_session(session) %}
    {% set rows = [] %}
    {% for name, row_count in session.captured_rows.items() %}
        {% do rows.append({'capture_instance': name, 'row_count': row_count}) %}
    {% endfor %}
    {% do dbt_cdc._insert_state('scan_sessions', [dict(
        session, invocation_id=invocation_id, start_time=run_started_at.strftime('%Y-%m-%d %H:%M:%S.%f'),
        end_time='now', error_count=session.errors | length, captured_rows=rows,
        command_count=session.captured_rows.values() | sum)]) %}
    {% do dbt_cdc._record_errors(session.errors) %}
    {% do log('cdc session: ' ~ tojson(session)) %}
{% endmacro %}


{% macro _session(errors) %}
    {% set cache = dbt_cdc._invocation_cache() %}
    {% set scanned = cache.get('window', {}) %}
    {% set window = scanned if scanned.to_lsn else {} %}
    {% set id = run_started_at.timestamp() | int - 1577836800 %}
    {% set is_empty = not window and not errors %}
    {% set phase = 8 if is_empty else cache.get('phase', 1) %}
    {% for error in errors %}
        {% do error.update(
            session_id=id, phase_number=phase, start_lsn=window.get('previous_lsn'),
            begin_lsn=window.get('floor_lsn')
        ) %}
    {% endfor %}
    {% do return({
        'session_id': id,
        'scan_phase': dbt_cdc._phase_text(phase),
        'errors': errors,
        'start_lsn': scanned.get('previous_lsn'),
        'end_lsn': window.get('to_lsn'),
        'tran_count': window.get('transactions', 0) | int,
        'last_commit_time': window.get('last_commit_time'),
        'log_record_count': window.get('record_count', 0) | int,
        'schema_change_count': window.get('schema_change_count', 0) | int,
        'first_begin_cdc_lsn': window.get('first_begin_cdc_lsn'),
        'last_commit_cdc_lsn': window.get('last_commit_cdc_lsn'),
        'last_commit_cdc_time': window.get('last_commit_cdc_time'),
        'captured_rows': dbt_cdc._captured_rows(),
        'waiting_for': cache.get('waiting_for') or dbt_cdc._known_to_wait(),
    }) %}
{% endmacro %}


{#- SQL Server's texts of the phases. -#}
{% macro _phase_text(phase) %}
    {% do return({
        1: 'Reading configuration', 2: 'First scan, building hash table', 3: 'Second scan',
        7: 'Last scan', 8: 'Done',
    }[phase]) %}
{% endmacro %}


{#- How many rows of the window are in each change table that this run captured: {name: rows}. -#}
{% macro _captured_rows() %}
    {% set counted = {} %}
    {% for name, row_count in dbt_cdc._invocation_cache().get('captured', {}).items() %}
        {% do counted.update({dbt_cdc._participants()[name].name: row_count}) %}
    {% endfor %}
    {% do return(counted) %}
{% endmacro %}


{#- The errors for which change tables were not captured: [{error_number, error_message,
    sequence_value}], each text once. -#}
{% macro _scan_errors(results) %}
    {% set failed, skipped = [], [] %}
    {% for result in results %}
        {#- the log may have a command of its own -#}
        {% set is_capture = dbt_cdc._is_of_capture(result.node)
            or result.node.resource_type == 'model' and result.node.name == var('cdc_log_model', none) %}
        {% if result.status in ['error', 'fail', 'runtime error'] %}
            {% do failed.append((is_capture, result.message or result.status | string)) %}
        {% elif result.status == 'skipped' and is_capture %}
            {% do skipped.append(result.node.name) %}
        {% endif %}
    {% endfor %}
    {% set errors = {} %}
    {% for is_capture, message in failed if is_capture or skipped %}
        {% set error = dbt_cdc._parsed_error(message) %}
        {% do errors.update({error.error_message: error}) %}
    {% endfor %}
    {% do return(errors.values() | list) %}
{% endmacro %}


{#- Of dbt's message the line that is ours, else all of it. -#}
{% macro _parsed_error(message) %}
    {% set ours = modules.re.search('CDC (\\d+): .*?(?=( SQLSTATE: |\\n|$))', message) %}
    {% set record = modules.re.search('lsn (0x[0-9A-F]{20})', message) %}
    {% do return({
        'error_number': ours[1] | int if ours else none,
        'error_message': (ours[0] if ours else message)[:1024],
        'sequence_value': record[1] if record else none,
    }) %}
{% endmacro %}


{#- Whether the command was one of the capture job, in a project that captures anything. -#}
{% macro _has_captured(results) %}
    {% set kinds = graph.nodes.values() | map(attribute='config.materialized') | list %}
    {% for result in results if dbt_cdc._is_of_capture(result.node)
        and ('change_table' in kinds or 'change_tracking_table' in kinds) %}
        {% do return(true) %}
    {% endfor %}
    {% do return(false) %}
{% endmacro %}
