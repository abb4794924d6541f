{#- Columns and tables that turn up in the log without a DDL record, in logs of sources whose DDL leaves none. -#}

{#- Part of the on-run-end hook: a column of images that no instance of the table captures is said once, with the LSN of
    its first record, and so is a table that nobody captures. The tables of the first window are taken as known. -#}
{% macro _report_new_columns(window) %}
    {% if dbt_cdc._switch_of_var('cdc_report_new_columns', true) and dbt_cdc._capture_instances()
        and window.touched_tables %}
        {% set tables, columns = [], {} %}
        {% set new = dbt_cdc._new_columns(window) | rejectattr('is_known') | list %}
        {% for row in new %}
            {% set table = row.source_schema ~ '.' ~ row.source_name %}
            {% if row.column_name and row.column_name not in dbt_cdc._names_of_table(row) %}
                {% do columns.setdefault(table, []).append("'" ~ row.column_name ~ "' since LSN " ~ row.first_lsn) %}
            {% elif not row.column_name and dbt_cdc._uncaptured([dbt_cdc._source_of(row)]) %}
                {% do tables.append(table) %}
            {% endif %}
        {% endfor %}
        {% do dbt_cdc._log_line(
            'in the log for the first time and not captured: ' ~ dbt_cdc._some(tables, 'tables')
            ~ '; dbt run-operation enable_table adds one, also where it is a captured table that was renamed: its '
            ~ 'instance ends with the old name'
        ) if tables and window.previous_lsn != dbt_cdc._zero_lsn() %}
        {% for table, names in columns.items() %}
            {% do dbt_cdc._log_line(
                'table ' ~ table ~ ' has columns that no instance captures: ' ~ dbt_cdc._some(names, 'columns')
                ~ '; a second instance can (dbt run-operation enable_table)'
            ) %}
        {% endfor %}
        {% set known = [] %}
        {% for row in new if not row.column_name
            or row.source_schema ~ '.' ~ row.source_name not in dbt_cdc._invocation_cache().get('undecided', []) %}
            {% do known.append(row) %}
        {% endfor %}
        {% do dbt_cdc._insert_state('observed_columns', known) %}
    {% endif %}
{% endmacro %}


{#- Asked once a command for the same tables: by the scan, which looks for columns that are missing beside new ones, or
    by the hook. -#}
{% macro _new_columns(window) %}
    {% set asked = dbt_cdc._invocation_cache().setdefault('new_columns', {}) %}
    {% set tables = tojson(window.touched_tables) %}
    {% do asked.update({tables: dbt_cdc._with_first_lsns(
        dbt_cdc._fetch(dbt_cdc._new_columns_sql(window)), window)})
        if tables not in asked %}
    {% do return(asked[tables]) %}
{% endmacro %}


{#- What is not known yet, a table by itself as a column without a name; and what is, where images have it and lack a
    captured column. All images of the window are asked for their keys; few of these lists differ, so that what comes
    after costs nothing. -#}
{% macro _new_columns_sql(window) -%}
    {%- set tables, known = [], [] -%}
    {%- for table, older in dbt_cdc._older_instances(window).items() -%}
        {%- do tables.append(table | join('.')) -%}
        {%- set names = dbt_cdc._literals(older.columns | map(attribute='name')) -%}
        {%- do known.append('(' ~ dbt_cdc._literals(table | list) ~ ', array(' ~ names ~ '), '
            ~ dbt_cdc._names_of_whole(older) ~ ')') -%}
    {%- endfor -%}
    with found as (
        select col1 as source_schema, col2 as source_name, '' as column_name, false as lacks_others
        from values
            {%- for table in window.touched_tables %}
            ({{ dbt_cdc._literals([table.source_schema, table.source_name]) }}){{ ',' if not loop.last }}
            {%- endfor %}
        {%- if known %}
        union all
        select
            source_schema,
            source_name,
            explode(array_except(names, col3)),
            {{ dbt_cdc._lacks_captured('names', 'col4', 'col5', 'col6') }}
        from (
            select distinct source_schema, source_name, operation, {{ dbt_cdc._image_keys() }} as names
            from {{ window.log }}
            where lsn >= '{{ window.floor_lsn }}' and lsn <= '{{ window.to_lsn }}'
                and operation in ('INSERT', 'UPDATE', 'DELETE')
                and source_schema || '.' || source_name in ({{ dbt_cdc._literals(tables) }})
        )
        inner join values
            {{ known | join(',\n            ') }}
            on col1 = source_schema and col2 = source_name
        {%- endif %}
    )

    select distinct source_schema, source_name, column_name, first_lsn is not null as is_known
    from found
    left join {{ dbt_cdc._state_relation('observed_columns') }}
        using (source_schema, source_name, column_name)
    where first_lsn is null or lacks_others
    order by source_schema, source_name, column_name
{%- endmacro %}


{#- The names in the image that a record leaves, of a delete in the one before it. -#}
{% macro _image_keys() -%}
    json_object_keys(coalesce(after_image, before_image))
{%- endmacro %}


{#- What tells that an image lacks captured columns: their names, the operations whose images are whole, and the names
    that the others have all the same, those of the key. -#}
{% macro _names_of_whole(instance) -%}
    array({{ dbt_cdc._literals(dbt_cdc._logged_columns(instance.columns) | map(attribute='name')) }}), array('INSERT'
    {{- ", 'UPDATE', 'DELETE'" if instance.before_image == 'complete' }}), {# -#}
    array({{ dbt_cdc._literals(instance.index_columns) }})
{%- endmacro %}


{% macro _lacks_captured(names, captured, operations, key) -%}
    size(array_except(if(array_contains({{ operations }}, operation), {{ captured }}, {{ key }}), {{ names }})) > 0
{%- endmacro %}


{#- The same with the LSN of the first record that has the column; of a known one, and lacks others. -#}
{% macro _with_first_lsns(new, window) %}
    {% set columns, rows, captured = [], [], dbt_cdc._older_instances(window) if new else {} %}
    {% for row in new %}
        {% do columns.append(
            '(' ~ dbt_cdc._literals([row.source_schema, row.source_name, row.column_name]) ~ ', ' ~ row.is_known | lower
            ~ ', ' ~ dbt_cdc._names_of_whole(captured[(row.source_schema, row.source_name)]) ~ ')'
        ) if row.column_name %}
        {% do rows.append(dict(row, first_lsn=window.to_lsn)) if not row.column_name %}
    {% endfor %}
    {% do return(rows + (dbt_cdc._fetch(dbt_cdc._first_lsns_sql(columns, window)) if columns else [])) %}
{% endmacro %}


{% macro _first_lsns_sql(columns, window) -%}
    select source_schema, source_name, col3 as column_name, col4 as is_known, min(lsn) as first_lsn
    from {{ window.log }}
    inner join values
        {{ columns | join(',\n        ') }}
        on col1 = source_schema and col2 = source_name and array_contains({{ dbt_cdc._image_keys() }}, col3)
        and (not col4 or {{ dbt_cdc._lacks_captured(dbt_cdc._image_keys(), 'col5', 'col6', 'col7') }})
    where lsn >= '{{ window.floor_lsn }}' and lsn <= '{{ window.to_lsn }}'
        and operation in ('INSERT', 'UPDATE', 'DELETE')
    group by source_schema, source_name, col3, col4
    order by source_schema, source_name, col3
{%- endmacro %}


{#- The instance of a table, by (schema, name), without tables of which a DDL record tells the columns. Of two the older
    one counts: the other may be there for what it lacks; one that has ended does not. -#}
{% macro _older_instances(window) %}
    {% set captured, told, going_on = {}, [], {} %}
    {% for instance in dbt_cdc._instances_of(window.touched_tables)
        if not (instance.get('registered') or {}).get('end_lsn') %}
        {% set key = (instance.name | lower not in window.published,
            (instance.get('registered') or {}).get('start_lsn') or '0xG') %}
        {% do going_on.setdefault(instance.table, []).append((key, instance.name, instance)) %}
    {% endfor %}
    {% for instances in going_on.values() %}
        {% set older = (instances | sort)[0][2] %}
        {% set table = (older.source_schema, older.source_name) %}
        {% do captured.update({table: older}) %}
        {% for _, _, instance in instances %}
            {% set planned = dbt_cdc._invocation_cache().get('plans', {}).get(instance.name | lower, {}) %}
            {% do told.append(table)
                if ((instance.registered or {}).get('columns', []) + planned.get('columns', {}).values() | list)
                | selectattr('source_type') | list %}
        {% endfor %}
    {% endfor %}
    {% for table in told %}
        {% do captured.pop(table, none) %}
    {% endfor %}
    {% do return(captured) %}
{% endmacro %}


{#- What all instances of a table capture. -#}
{% macro _names_of_table(table) %}
    {% set names = [] %}
    {% for instance in dbt_cdc._instances_of([dbt_cdc._source_of(table)]) %}
        {% do names.extend(instance.columns | map(attribute='name')) %}
    {% endfor %}
    {% do return(names) %}
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
