{#- The transactions of the log that commit after `previous_lsn` and up to `to_lsn`, and those that
    are still open there (commit_lsn null). A record belongs to the transaction that is open under
    its id; ids may be used again; without a BEGIN a transaction starts at its first record.
    A DDL or TRUNCATE without a transaction id is a transaction of its own, committed where it stands.
    `carried` (SQL) brings the transactions that were open at `previous_lsn`. `changed_tables` are those
    with an INSERT or DELETE, `updated_tables` those with an UPDATE; `schema_changes` are its DDL and
    TRUNCATE records; `record_count` counts its records. A scan (`is_scan`) refuses a transaction of which a table's
    changes have a command_id in part: its order would be another. -#}
{% macro _window_transactions(log, previous_lsn, to_lsn, carried=none, is_scan=false) -%}
    {%- if dbt_cdc._tells_transactions(log, previous_lsn, to_lsn) -%}
    {{ dbt_cdc._told_transactions(log, previous_lsn, to_lsn) }}
    {%- else -%}
    {{ dbt_cdc._found_transactions(log, previous_lsn, to_lsn, carried, is_scan) }}
    {%- endif -%}
{%- endmacro %}


{#- The same out of all records. -#}
{% macro _found_transactions(log, previous_lsn, to_lsn, carried, is_scan=false) -%}
    {%- set is_change = "operation in ('INSERT', 'UPDATE', 'DELETE')" -%}
    {%- set tables = 'array<struct<source_schema: string, source_name: string>>' -%}
    with records as (
        select
            tran_id,
            {{ dbt_cdc._indent(dbt_cdc._checked_lsn(), 12) }} as lsn,
            operation,
            record_time,
            named_struct('source_schema', source_schema, 'source_name', source_name) as source_table,
            cast(null as {{ tables }}) as changed_tables,
            cast(null as {{ tables }}) as updated_tables,
            1L as record_count,
            case
                when operation in ('DDL', 'TRUNCATE') then array({{ dbt_cdc._schema_change() | indent(16) }})
            end as schema_changes
            {{- ',\n            command_id' if is_scan }}
        from {{ log }}
        where lsn > '{{ previous_lsn }}' and lsn <= '{{ to_lsn }}'
        {%- if carried %}
        union all
        {{ dbt_cdc._indent(carried, 8) }}
        {%- endif %}
    ),

    numbered as (
        select
            *,
            count_if(operation = 'BEGIN') over (
                partition by tran_id order by lsn
                rows between unbounded preceding and current row
            ) + count_if(operation in ('COMMIT', 'ROLLBACK') or tran_id is null) over (
                partition by tran_id order by lsn
                rows between unbounded preceding and 1 preceding
            ) as use_of_id
            {%- if dbt_cdc._switch_of_var('cdc_check_duplicates', false) %},
            count(*) over (partition by lsn) as copies
            {%- endif %}
        from records
    ),

    transactions as (
        select
            tran_id,
            use_of_id,
            min(lsn) as begin_lsn,
            min_by(record_time, lsn) as begin_time,
            max(case when operation = 'COMMIT' or tran_id is null then lsn end) as commit_lsn,
            max(case when operation = 'COMMIT' or tran_id is null then record_time end) as commit_time,
            bool_or(operation = 'ROLLBACK') as is_rolled_back,
            array_union(
                collect_set(case when operation in ('INSERT', 'DELETE') then source_table end),
                coalesce(max_by(changed_tables, changed_tables is not null), cast(array() as {{ tables }}))
            ) as changed_tables,
            array_union(
                collect_set(case when operation = 'UPDATE' then source_table end),
                coalesce(max_by(updated_tables, updated_tables is not null), cast(array() as {{ tables }}))
            ) as updated_tables,
            sum(record_count) as record_count,
            array_sort(flatten(collect_list(schema_changes))) as schema_changes
            {%- if is_scan %},
            size(collect_set(if({{ is_change }}, struct(source_table, command_id is null), null)))
                > size(collect_set(if({{ is_change }}, source_table, null))) as has_other_commands
            {%- endif %}
            {%- if dbt_cdc._switch_of_var('cdc_check_duplicates', false) %},
            max(case when copies > 1 then {{ dbt_cdc._indent(dbt_cdc._raise_bad_record(
                "concat('lsn ', lsn, ', tran_id ', coalesce(tran_id, 'NULL'))",
                "concat(cast(copies as string), ' records have this lsn')"
            ), 16) }} end) as duplicate
            {%- endif %}
        from numbered
        group by tran_id, use_of_id
    ),

    checked as (
        select
            *,
            max(use_of_id) over (partition by tran_id) as last_use_of_id,
            count(*) over (partition by commit_lsn) as commits
        from transactions
        {%- if dbt_cdc._switch_of_var('cdc_check_duplicates', false) %}
        where duplicate is null
        {%- endif %}
    )

    select
        tran_id,
        begin_lsn,
        begin_time,
        case
            when commit_lsn is not null and commits > 1 then {{ dbt_cdc._indent(
                dbt_cdc._raise_bad_record(
                    "concat('lsn ', commit_lsn, ', tran_id ', coalesce(tran_id, 'NULL'))",
                    "concat(cast(commits as string), ' commits have this lsn')"
                ), 16) }}
            {%- if is_scan %}
            when has_other_commands then {{ dbt_cdc._indent(
                dbt_cdc._raise_bad_record(
                    "concat('lsn ', begin_lsn, ', tran_id ', tran_id, ', column command_id')",
                    "'changes of one table have one in part'",
                    'a transaction has it on all of its changes or on none; correct its records (an UPDATE, sent by '
                    ~ 'run_statement), then run again'
                ), 16) }}
            {%- endif %}
            else commit_lsn
        end as commit_lsn,
        commit_time,
        changed_tables,
        updated_tables,
        record_count,
        schema_changes
    from checked
    where commit_lsn is not null or (not is_rolled_back and use_of_id = last_use_of_id)
{%- endmacro %}
