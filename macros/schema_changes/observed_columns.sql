{#- Columns and tables that turn up in the log without a DDL record, in logs of sources whose DDL leaves none. -#}

{#- Part of the on-run-end hook: each new column is reported once, with the LSN of its first record, and each table that
    nobody captures. The columns of a table's first window, and the tables of the first one, are taken as known. Of a
    large window the last transaction is looked at for columns, and 10,000 records at most: one that stays is found by
    a later run. -#}
{% macro _report_new_columns(window) %}
    {% if var('cdc_report_new_columns', true) and dbt_cdc._capture_instances() %}
        {% set new = dbt_cdc._fetch(dbt_cdc._new_columns_sql(window)) %}
        {% set tables = [] %}
        {% for row in new if not row.column_name %}
            {% do tables.append(row.source_schema ~ '.' ~ row.source_name) %}
        {% endfor %}
        {% do dbt_cdc._log_line(
            'in the log for the first time and not captured: ' ~ dbt_cdc._some(tables, 'tables')
            ~ '; dbt run-operation enable_table adds one, also where it is a captured table that was renamed: its '
            ~ 'instance ends with the old name'
        ) if tables and window.previous_lsn != dbt_cdc._zero_lsn() %}
        {% for row in new if row.column_name and not row.is_first and not dbt_cdc._is_captured_column(row) %}
            {% set first_lsn = dbt_cdc._fetch(
                'select min(lsn) as lsn from ' ~ window.log ~ " where lsn between '" ~ window.floor_lsn
                ~ "' and '" ~ window.to_lsn ~ "' and "
                ~ dbt_cdc._is_of_table(row.source_schema, row.source_name)
                ~ ' and array_contains(json_object_keys(after_image), '
                ~ dbt_cdc._literal(row.column_name) ~ ')'
            )[0].lsn %}
            {% do row.update(first_lsn=first_lsn or row.first_lsn) %}
            {% do dbt_cdc._log_line(
                'table ' ~ row.source_schema ~ '.' ~ row.source_name ~ " has a new column '"
                ~ row.column_name ~ "' since LSN " ~ row.first_lsn ~ ', and no instance captures it; '
                ~ 'a second instance can (dbt run-operation enable_table)'
            ) %}
        {% endfor %}
        {% if new %}
            {% set rows = [] %}
            {% for row in new %}
                {% do rows.append('(' ~ dbt_cdc._literals([
                    row.source_schema, row.source_name, row.column_name, row.first_lsn]) ~ ')') %}
            {% endfor %}
            {% do run_query(
                'insert into ' ~ dbt_cdc._state_relation('observed_columns') ~ ' values '
                ~ rows | join(', ')
            ) %}
        {% endif %}
    {% endif %}
{% endmacro %}


{% macro _new_columns_sql(window) -%}
    {%- set observed = dbt_cdc._state_relation('observed_columns') -%}
    {%- set others = dbt_cdc._uncaptured(window.touched_tables) -%}
    select fields.*, coalesce(array_max(observed.names), '') = '' as is_first
    from (
        select
            source_table.source_schema,
            source_table.source_name,
            column_name,
            min(lsn) as first_lsn
        from (
            select lsn, source_table, explode(json_object_keys(after_image)) as column_name
            from (
                select
                    lsn,
                    after_image,
                    named_struct('source_schema', source_schema, 'source_name', source_name)
                        as source_table
                from {{ window.log }}
                where
                    lsn >= '{{ window.floor_lsn if window.transactions <= 1000 else window.last_begin_lsn }}'
                    and lsn <= '{{ window.to_lsn }}'
                    and operation in ('INSERT', 'UPDATE')
                    and after_image is not null
                limit 10000
            )
            where array_contains({{ dbt_cdc._indent(dbt_cdc._captured_tables_sql(), 12) }}, source_table)
        )
        group by source_table, column_name
        {%- if others %}
        -- a table by itself, as a column without a name
        union all
        select col1, col2, '', '{{ window.to_lsn }}'
        from values
            {%- for table in others %}
            ({{ dbt_cdc._literals([table.source_schema, table.source_name]) }}){{ ',' if not loop.last }}
            {%- endfor %}
        {%- endif %}
    ) as fields
    left join (
        select source_schema, source_name, collect_set(column_name) as names
        from {{ observed }}
        group by source_schema, source_name
    ) as observed
        on fields.source_schema = observed.source_schema and fields.source_name = observed.source_name
    where
        observed.names is null
        or fields.column_name <> '' and not array_contains(observed.names, fields.column_name)
    order by source_schema, source_name, column_name
{%- endmacro %}


{#- Whether an instance captures it, or a DDL record of the table tells of it. -#}
{% macro _is_captured_column(row) %}
    {% for instance in dbt_cdc._instances_of([dbt_cdc._source_of(row)])
        if row.column_name in instance.columns | map(attribute='name')
        or instance.registered.columns | selectattr('source_type') | list %}
        {% do return(true) %}
    {% endfor %}
    {% do return(false) %}
{% endmacro %}


{#- Those of the tables that neither an instance nor change tracking has. -#}
{% macro _uncaptured(tables) %}
    {% set found, tracked = [], dbt_cdc._tracked_tables().values() | map(attribute='table') | list %}
    {% for table in tables if table.source_schema ~ '.' ~ table.source_name not in tracked
        and not dbt_cdc._instances_of([dbt_cdc._source_of(table)]) %}
        {% do found.append(table) %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{#- The first 20 of a list, and how many more there are. -#}
{% macro _some(texts, what) %}
    {% do return(
        texts[:20] | join(', ') ~ (' and ' ~ (texts | length - 20) ~ ' more ' ~ what if texts | length > 20)) %}
{% endmacro %}
