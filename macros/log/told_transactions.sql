{#- A log may have a column `transaction`: with each COMMIT what its transaction holds, as JSON, as the adapter has
    worked it out. Then the COMMITs tell the transactions of a window, and no other record is read for them; and records
    may be in places that were read before, as those of SQL Server are. -#}

{#- Whether each COMMIT in a part of the log has it: an older version of the adapter has written none. -#}
{% macro _tells_transactions(log, previous_lsn, to_lsn) %}
    {% do return(false)
        if not execute or log is string or previous_lsn == to_lsn or not dbt_cdc._log_has(log, 'transaction') %}
    {% set asked = dbt_cdc._invocation_cache().setdefault('told_transactions', {}) %}
    {% set part = previous_lsn ~ to_lsn %}
    {% if part not in asked %}
        {% do dbt_cdc._check_no_lsn_twice(log, previous_lsn, to_lsn)
            if dbt_cdc._switch_of_var('cdc_check_duplicates', false) %}
        {% do asked.update({part: dbt_cdc._fetch(
            'select 1 from ' ~ log ~ " where operation = 'COMMIT' and `transaction` is null and lsn > '" ~ previous_lsn
            ~ "' and lsn <= '" ~ to_lsn ~ "' limit 1") == []}) %}
    {% endif %}
    {% do return(asked[part]) %}
{% endmacro %}


{#- What the scan of all records sees by itself. SQL Server's delete and insert of one key change share their LSN, and
    are two commands. -#}
{% macro _check_no_lsn_twice(log, previous_lsn, to_lsn) %}
    {% set place = 'lsn, command_id' if dbt_cdc._log_has(log, 'command_id') else 'lsn' %}
    {% for row in dbt_cdc._fetch(
        'select lsn, max(tran_id) as tran_id, count(*) as records from ' ~ log ~ " where lsn > '" ~ previous_lsn
        ~ "' and lsn <= '" ~ to_lsn ~ "' group by " ~ place ~ ' having count(*) > 1 order by lsn limit 1') %}
        {% do dbt_cdc.raise_cdc_error(
            22859, 'bad log record of lsn ' ~ row.lsn ~ ', tran_id ' ~ row.tran_id ~ ': ' ~ row.records
            ~ ' records have this lsn', dbt_cdc._bad_record_advice()
        ) %}
    {% endfor %}
{% endmacro %}


{#- The transactions that commit after `previous_lsn` and up to `to_lsn`, with the columns of _window_transactions. -#}
{% macro _told_transactions(log, previous_lsn, to_lsn) -%}
    {%- set place = "concat('lsn ', commit_lsn, ', tran_id ', coalesce(tran_id, 'NULL'))" -%}
    select
        tran_id,
        case
            when commits > 1 then {{ dbt_cdc._indent(dbt_cdc._raise_bad_record(
                place, "concat(cast(commits as string), ' commits have this lsn')"), 16) }}
            when not coalesce(told.begin_lsn rlike '{{ dbt_cdc._lsn_pattern() }}', false)
                then {{ dbt_cdc._indent(dbt_cdc._raise_bad_record(
                    place, "concat('its column transaction tells no begin_lsn: ', summary)"), 16) }}
            else told.begin_lsn
        end as begin_lsn,
        {{ dbt_cdc._told_time('told.begin_time', place) }} as begin_time,
        commit_lsn,
        commit_time,
        array_union(coalesce(told.inserted, array()), coalesce(told.deleted, array())) as changed_tables,
        coalesce(told.updated, array()) as updated_tables,
        told.records as record_count,
        transform(coalesce(told.schema_changes, array()), change -> {{ dbt_cdc._schema_change(
            'change.', record_time=dbt_cdc._told_time('change.record_time', place)) | indent(8) }}) as schema_changes
    from (
        select
            tran_id,
            {{ dbt_cdc._indent(dbt_cdc._checked_lsn(), 12) }} as commit_lsn,
            record_time as commit_time,
            `transaction` as summary,
            count(*) over (partition by lsn) as commits,
            from_json(`transaction`, '{{ dbt_cdc._summary_type() }}') as told
        from {{ log }}
        where operation = 'COMMIT' and lsn > '{{ previous_lsn }}' and lsn <= '{{ to_lsn }}'
    )
    {#- a DDL or TRUNCATE without a transaction is one by itself -#}
    union all
    select
        max(tran_id),
        lsn,
        max(record_time),
        lsn,
        max(record_time),
        array(),
        array(),
        count(*),
        array_sort(collect_list({{ dbt_cdc._schema_change() | indent(8) }}))
    from {{ log }}
    where
        operation in ('DDL', 'TRUNCATE')
        and tran_id is null
        and lsn > '{{ previous_lsn }}'
        and lsn <= '{{ to_lsn }}'
    group by lsn
{%- endmacro %}


{% macro _told_time(text, place) -%}
coalesce(try_cast({{ text }} as timestamp), if({{ text }} is null, null, {{ dbt_cdc._raise_bad_record(
    place, "concat('its column transaction tells the time ', " ~ text ~ ")") }}))
{%- endmacro %}


{#- The tables of a group of changes, by what is done to them: columns for _transaction_summary. -#}
{% macro _tables_by_operation() -%}
    {%- for name, operation in {'inserted': 'INSERT', 'deleted': 'DELETE', 'updated': 'UPDATE'}.items() %}
        array_sort(collect_set(case when operation = '{{ operation }}' then named_struct(
            'source_schema', source_schema, 'source_name', source_name
        ) end)) as {{ name }}{{ ',' if not loop.last }}
    {%- endfor %}
{%- endmacro %}


{#- The column of a COMMIT; arguments are SQL. Times are texts: Spark's JSON has milliseconds alone. -#}
{% macro _transaction_summary(begin_lsn, records, inserted, deleted, updated, schema_changes='array()') -%}
to_json(named_struct(
    'begin_lsn', {{ begin_lsn }},
    'begin_time', cast(begin_time as string),
    'records', {{ records }},
    'inserted', {{ inserted }},
    'deleted', {{ deleted }},
    'updated', {{ updated }},
    'schema_changes', {{ schema_changes }}
))
{%- endmacro %}


{#- A DDL or TRUNCATE record among `schema_changes`: that of `record` (with its dot), else the row; others are SQL. -#}
{% macro _schema_change(record='', lsn=none, record_time=none, operation=none) -%}
named_struct(
    'lsn', {{ lsn or record ~ 'lsn' }}, 'record_time', {{ record_time or record ~ 'record_time' }},
    'operation', {{ operation or record ~ 'operation' }},
    'source_schema', {{ record }}source_schema, 'source_name', {{ record }}source_name
)
{%- endmacro %}


{% macro _summary_type() -%}
    {%- set table = 'source_schema: string, source_name: string' -%}
    {%- set tables = 'array<struct<' ~ table ~ '>>' -%}
begin_lsn string, begin_time string, records bigint, {# -#}
inserted {{ tables }}, deleted {{ tables }}, updated {{ tables }}, {# -#}
schema_changes array<struct<lsn: string, record_time: string, operation: string, {{ table }}>>
{%- endmacro %}
