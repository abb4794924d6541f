{#- Tables as the log names them: one in another letter case would never have a change. -#}

{#- Stops where the log has a new one's table in another letter case; one that it does not have yet is said. -#}
{% macro _check_tables_are_logged(tables, log) %}
    {% set given = tables | map(attribute='table') | map('lower') | list %}
    {% set found = dbt_cdc._fetch(
        "select distinct source_schema || '.' || source_name as name from " ~ log
        ~ " where lower(source_schema || '.' || source_name) in (" ~ dbt_cdc._literals(given) ~ ')'
    ) | map(attribute='name') | list if given else [] %}
    {% for table in tables if table.table not in found %}
        {% do dbt_cdc._check_spelling_of(table, found) %}
        {% do dbt_cdc._log_line(
            'the log has no record of ' ~ table.table ~ ' yet, which ' ~ table.model ~ ' captures') %}
    {% endfor %}
{% endmacro %}


{#- The same for tables that the log had no record of when they were entered. -#}
{% macro _check_spelling(window) %}
    {% set touched = [] %}
    {% for table in window.touched_tables %}
        {% do touched.append(table.source_schema ~ '.' ~ table.source_name) %}
    {% endfor %}
    {% for participant in dbt_cdc._participants().values()
        if participant.table not in touched and participant.table | lower in touched | map('lower')
        and not dbt_cdc._has_rows(participant.relation) %}
        {% do dbt_cdc._check_spelling_of(participant, touched) %}
    {% endfor %}
{% endmacro %}


{#- `logged`: names of the log, none of which is the table's own. -#}
{% macro _check_spelling_of(table, logged) %}
    {% set names = [] %}
    {% for name in logged if name | lower == table.table | lower %}
        {% do names.append(name) %}
    {% endfor %}
    {% if names %}
        {% do dbt_cdc.raise_cdc_error(
            22931, "model '" ~ table.model ~ "' captures table " ~ table.table ~ ', and the log has '
            ~ names | join(', '), 'write source_schema and source_name as the log does'
        ) %}
    {% endif %}
{% endmacro %}
