{#- The end of a log whose COMMITs tell what their transactions hold. -#}

{#- The last commit of the log. -#}
{% macro _told_log_end(log, adapter_name) %}
    {% do dbt_cdc.raise_cdc_error(
        22901, adapter_name ~ ': ' ~ log ~ ' lacks the column transaction', 'write it anew with dbt run '
        ~ '--full-refresh --select ' ~ dbt_cdc._selected(log))
        if 'transaction' not in adapter.get_columns_in_relation(log) | map(attribute='name') %}
    {% do return(dbt_cdc._fetch(
        'select max(lsn) as lsn from ' ~ log ~ " where operation = 'COMMIT'")[0].lsn or dbt_cdc._zero_lsn()) %}
{% endmacro %}


{#- CTE `records`: the canonical log out of the CTE `committed`, a row for each change of a whole transaction:
    `commit_lsn`, `commit_time`, `lsn`, `record_time`, `operation`, `source_schema`, `source_name`, `before_image`,
    `after_image`. A transaction is named by its LSN. -#}
{% macro _told_records() -%}
transactions as (
    select
        commit_lsn,
        min(commit_time) as begin_time,
        min(lsn) as begin_lsn,
        count(*) as changes,
        {{- dbt_cdc._tables_by_operation() }},
        array_sort(collect_list(case when operation = 'TRUNCATE' then {{ dbt_cdc._schema_change(
            record_time='cast(record_time as string)') | indent(8) }} end)) as emptied
    from committed
    group by commit_lsn
),

records as (
    select
        lsn,
        commit_lsn as tran_id,
        operation,
        record_time,
        source_schema,
        source_name,
        before_image,
        after_image,
        cast(null as string) as ddl_command,
        cast(null as int) as command_id,
        cast(null as string) as `transaction`
    from committed
    union all
    select
        commit_lsn,
        commit_lsn,
        'COMMIT',
        begin_time,
        null,
        null,
        null,
        null,
        null,
        null,
        {{ dbt_cdc._transaction_summary('begin_lsn', 'changes + 1', 'inserted', 'deleted', 'updated', 'emptied')
            | indent(8) }}
    from transactions
)
{%- endmacro %}
