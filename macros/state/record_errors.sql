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
