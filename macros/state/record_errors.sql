{#- Errors (dictionaries) into dm_cdc_errors, in one statement. -#}
{% macro _record_errors(errors) %}
    {% set rows, row = [], {
        'session_id': 0, 'phase_number': 0, 'entry_time': 'now', 'error_severity': 16, 'error_state': 1,
    } %}
    {% for error in errors %}
        {% do rows.append(dict(row, **error)) %}
    {% endfor %}
    {% do dbt_cdc._insert_state('dm_cdc_errors', rows) %}
{% endmacro %}
