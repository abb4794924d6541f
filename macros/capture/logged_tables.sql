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
    {% do dbt_cdc._check_respelt_changes(window.respelt_changes, window.log, window.to_lsn)
        if window.respelt_changes %}
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


{#- Stops at records that empty a table, which the log has rows of in another letter case alone, as a source writes it
    that lowers names but for those of its statements. `respelt` are the names that the scan reads, which a COMMIT may
    tell; `to_lsn` the end of the window that has written them down. -#}
{% macro _check_respelt_changes(respelt, log, to_lsn=none) %}
    {% for change in dbt_cdc._fetch(
        'select lsn, operation, source_schema, source_name, ddl_command, after_image from ' ~ log
        ~ " where operation in ('DDL', 'TRUNCATE') and lsn in ("
        ~ dbt_cdc._literals(respelt | map(attribute='lsn') | list) ~ ')'
    ) if change.operation == 'TRUNCATE' or change.after_image is none
        or dbt_cdc._replaces_table(change.ddl_command) %}
        {% for given in respelt if given.lsn == change.lsn
            and given.source_name | lower == change.source_name | lower %}
            {% set name = given.source_schema ~ '.' ~ given.source_name %}
            {% for table in dbt_cdc._participants().values()
                if table.table != name and table.table | lower == name | lower and not dbt_cdc._fetch(
                    'select 1 from ' ~ log ~ ' where ' ~ dbt_cdc._is_of_table(given.source_schema, given.source_name)
                    ~ " and operation in ('INSERT', 'UPDATE', 'DELETE') limit 1") %}
                {% do dbt_cdc.raise_cdc_error(
                    22931, 'the log has a record at ' ~ change.lsn ~ ' that empties ' ~ name ~ ' ('
                    ~ (change.ddl_command or change.operation) ~ '), which has no rows there, and ' ~ table.model
                    ~ ' captures ' ~ table.table, dbt_cdc._respelling_advice(given, table, log, to_lsn)
                ) %}
            {% endfor %}
        {% endfor %}
    {% endfor %}
{% endmacro %}


{#- The same of what a new instance reads again from the log's start. -#}
{% macro _check_respelt_beginning(instances, log) %}
    {% set names = instances | selectattr('capture_from', 'equalto', 'log_start') | map(attribute='table') | list %}
    {% set name = "source_schema || '.' || source_name" %}
    {% set respelt = dbt_cdc._fetch(
        'select lsn, source_schema, source_name from ' ~ log ~ " where operation in ('DDL', 'TRUNCATE') and lower("
        ~ name ~ ') in (' ~ dbt_cdc._literals(names | map('lower') | list) ~ ') and ' ~ name ~ ' not in ('
        ~ dbt_cdc._literals(names) ~ ')') if names else [] %}
    {% do dbt_cdc._check_respelt_changes(respelt, log) if respelt %}
{% endmacro %}


{#- The COMMIT of an adapter tells the name, too. -#}
{% macro _respelling_advice(given, table, log, to_lsn) %}
    {% set texts = [] %}
    {% for named in [given, table] %}
        {% do texts.append(dbt_cdc._literal(dbt_cdc._table_as_json(named))) %}
    {% endfor %}
    {% do return(
        'if they are one table, send by run_statement: update ' ~ log ~ ' set source_schema = '
        ~ dbt_cdc._literal(table.source_schema) ~ ', source_name = ' ~ dbt_cdc._literal(table.source_name)
        ~ " where lsn = '" ~ given.lsn ~ "' and operation in ('DDL', 'TRUNCATE')"
        ~ ('; update ' ~ log ~ ' set `transaction` = replace(`transaction`, ' ~ texts | join(', ')
            ~ ") where operation = 'COMMIT' and contains(`transaction`, '" ~ given.lsn ~ "')"
            if dbt_cdc._log_has(log, 'transaction'))
        ~ '; if not, give it a name of no captured table there'
        ~ ('; then delete from ' ~ dbt_cdc._state_relation('scan_transactions') ~ " where window_to_lsn = '" ~ to_lsn
            ~ "'" if to_lsn) ~ '; and run again'
    ) %}
{% endmacro %}


{#- As Spark's to_json writes it in a COMMIT, and not tojson, which escapes what is beyond ASCII. -#}
{% macro _table_as_json(table) %}
    {% set parts = [] %}
    {% for name in ['source_schema', 'source_name'] %}
        {% do parts.append(
            '"' ~ name ~ '":"' ~ table[name] | replace('\\', '\\\\') | replace('"', '\\"') ~ '"') %}
    {% endfor %}
    {% do return(parts | join(',')) %}
{% endmacro %}


{#- `logged`: names of the log, none of which is the table's own. -#}
{% macro _check_spelling_of(table, logged) %}
    {% set names = [] %}
    {% for name in logged if name | lower == table.table | lower %}
        {% do names.append(name) %}
    {% endfor %}
    {% do dbt_cdc.raise_cdc_error(
        22931, "model '" ~ table.model ~ "' captures table " ~ table.table ~ ', and the log has '
        ~ names | join(', '), 'write source_schema and source_name as the log does'
    ) if names %}
{% endmacro %}
