{#- The errors for which change tables were not captured: [{error_number, error_message,
    sequence_value}], each text once. -#}
{% macro _scan_errors(results) %}
    {% set failed, skipped = [], [] %}
    {% for result in results %}
        {% set is_capture = dbt_cdc._is_of_capture(result.node) %}
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


{% macro _is_of_capture(node) %}
    {% do return(
        node.resource_type == 'model'
        and node.config.materialized in ['scan', 'change_table', 'change_tracking_table', 'publication']
    ) %}
{% endmacro %}


{#- Errors (dictionaries) into dm_cdc_errors, in one statement. -#}
{% macro _record_errors(errors) %}
    {% set rows = [] %}
    {% for error in errors %}
        {% do rows.append('(' ~ [
            error.session_id or 0, error.phase_number or 0, 'current_timestamp()',
            error.error_number if error.error_number is not none else 'cast(null as int)', 16, 1,
            dbt_cdc._literal(error.error_message), dbt_cdc._literal(error.start_lsn),
            dbt_cdc._literal(error.begin_lsn), dbt_cdc._literal(error.sequence_value),
        ] | join(', ') ~ ')') %}
    {% endfor %}
    {% if rows %}
        {% do run_query(
            'insert into ' ~ dbt_cdc._state_relation('dm_cdc_errors') ~ ' select * from values '
            ~ rows | join(', ')
        ) %}
    {% endif %}
{% endmacro %}
