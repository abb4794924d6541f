{#- The DDL and TRUNCATE records of captured tables in the window, in commit order, with what the log
    says of them: ddl_command; columns ([{name, type}] after it, none where the record has none, or
    has those of the table by its new name);
    is_dropped (none where it does not tell); is_replaced: it made the table anew, empty. -#}
{% macro _read_schema_changes(changes, log) %}
    {% set read = [] %}
    {% if changes %}
        {% set records = {} %}
        {% for row in dbt_cdc._fetch(
            'select lsn, source_schema, source_name, ddl_command, after_image from ' ~ log
            ~ " where operation in ('DDL', 'TRUNCATE') and lsn in ('"
            ~ changes | map(attribute='lsn') | join("', '") ~ "')"
        ) %}
            {% do records.update({(row.lsn, row.source_schema, row.source_name): row}) %}
        {% endfor %}
        {% for change in changes | sort(attribute='commit_lsn,lsn') %}
            {% set record = records.get((change.lsn, change.source_schema, change.source_name), {}) %}
            {% set columns = dbt_cdc._columns_of_record(change, record.get('after_image')) %}
            {% set command, name = record.get('ddl_command'), change.source_name %}
            {% set columns = none
                if dbt_cdc._new_name_of_table(command, name) and not dbt_cdc._old_name_of_table(command, name)
                else columns %}
            {% set drops = record and record.after_image is none and modules.re.search(
                '(?i)\\bdrop\\s+(table|database|schema)\\b', dbt_cdc._read_twice(command or 'drop table')) %}
            {% set is_replaced = dbt_cdc._replaces_table(command) %}
            {% do read.append(dict(
                change,
                ddl_command=command,
                columns=columns,
                is_replaced=is_replaced,
                is_dropped=false if columns or is_replaced else (true if drops and change.operation == 'DDL' else none)
            )) %}
        {% endfor %}
    {% endif %}
    {% do return(read) %}
{% endmacro %}


{#- The old name of a table that takes that of a record's table, with the same commit or later: a log may have a record
    for each clause of a RENAME. -#}
{% macro _name_is_taken_by(change, changes) %}
    {% for later in changes if later.commit_lsn >= change.commit_lsn
        and dbt_cdc._source_of(later) == dbt_cdc._source_of(change) %}
        {% set other = dbt_cdc._old_name_of_table(later.ddl_command, change.source_name) %}
        {% do return(other) if other %}
    {% endfor %}
    {% do return(none) %}
{% endmacro %}


{% macro _columns_of_record(change, after_image) %}
    {% do return(none) if after_image is none or change.operation != 'DDL' %}
    {% set columns = fromjson(after_image, none) %}
    {% set is_list = columns is sequence and columns is not string and columns is not mapping %}
    {% set wrong = (columns | rejectattr('name') | list) + (columns | rejectattr('type') | list)
        if is_list else [none] %}
    {% do dbt_cdc.raise_cdc_error(
        22859, 'bad log record of table ' ~ change.source_schema ~ '.' ~ change.source_name
        ~ ', column after_image, lsn ' ~ change.lsn ~ ': it is no JSON array of columns',
        'a DDL record lists the columns that it leaves as [{"name": ..., "type": ...}], or is null '
        ~ 'where the table was dropped; ' ~ dbt_cdc._bad_record_advice()
    ) if wrong %}
    {% do return(columns or none) %}
{% endmacro %}


{#- The same of the whole log up to the window's end, for an instance that backfills. -#}
{% macro _schema_changes_since_log_start(window) %}
    {% set rows = dbt_cdc._fetch(
        'select to_json(array_sort(flatten(collect_list(captured_schema_changes)))) as changes from ('
        ~ 'select ' ~ dbt_cdc._captured_schema_changes_sql() ~ ' as captured_schema_changes from ('
        ~ dbt_cdc._window_transactions(window.log, dbt_cdc._zero_lsn(), window.to_lsn)
        ~ ') where commit_lsn is not null)'
    ) %}
    {% do return(dbt_cdc._read_schema_changes(fromjson(rows[0].changes), window.log)) %}
{% endmacro %}


{#- The DDL and TRUNCATE records of captured tables among a transaction's, with its commit. -#}
{% macro _captured_schema_changes_sql() -%}
    transform(
        filter(schema_changes, change -> array_contains(
            {{ dbt_cdc._indent(dbt_cdc._captured_tables_sql(), 12) }},
            named_struct('source_schema', change.source_schema, 'source_name', change.source_name)
        )),
        change -> named_struct(
            'commit_lsn', commit_lsn, 'lsn', change.lsn, 'operation', change.operation,
            'record_time', cast(change.record_time as string),
            'source_schema', change.source_schema, 'source_name', change.source_name
        )
    )
{%- endmacro %}


{#- Those of tables that participants spell in another letter case. -#}
{% macro _respelt_changes_sql() -%}
{%- set tables = dbt_cdc._source_tables_sql(dbt_cdc._participants().values()) -%}
    transform(
        filter(schema_changes, change -> not array_contains(
            {{ dbt_cdc._indent(tables, 12) }},
            named_struct('source_schema', change.source_schema, 'source_name', change.source_name)
        ) and exists(
            {{ dbt_cdc._indent(tables, 12) }},
            own -> lower(own.source_schema) = lower(change.source_schema)
            and lower(own.source_name) = lower(change.source_name)
        )),
        change -> named_struct(
            'lsn', change.lsn, 'source_schema', change.source_schema, 'source_name', change.source_name)
    )
{%- endmacro %}
