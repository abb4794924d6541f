{#- Whether a relation is a canonical log: each position is an LSN and occurs once, or once for each
    command where SQL Server gives two the same, and each record has a known operation, a
    transaction and, for a change, a table. Returns the bad records, each with what is wrong. -#}
{% test canonical_log(model) %}
{%- set has_commands = execute and model is not string and 'command_id' in (
    adapter.get_columns_in_relation(model) | map(attribute='name') | map('lower')) %}
select *
from (
    select
        lsn,
        tran_id,
        operation,
        source_schema,
        source_name,
        concat_ws(
            '; ',
            case
                when not coalesce(lsn rlike '{{ dbt_cdc._lsn_pattern() }}', false)
                    then 'the LSN is not 0x and 20 upper-case hexadecimal digits'
                when lsn = '{{ dbt_cdc._zero_lsn() }}'
                    then 'the LSN is zero, behind which a log begins'
            end,
            case when copies > 1 then concat(copies, ' records have this LSN') end,
            case
                when operation is null or operation not in (
                    'BEGIN', 'COMMIT', 'ROLLBACK', 'INSERT', 'UPDATE', 'DELETE', 'DDL', 'TRUNCATE'
                ) then 'the operation is unknown'
            end,
            case
                when tran_id is null and operation not in ('DDL', 'TRUNCATE')
                    then 'tran_id is null'
            end,
            case
                when
                    operation in ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE')
                    and (source_schema is null or source_name is null)
                    then 'it names no source table'
            end
        ) as problem
    from (
        select
            *,
            count(*) over (
                partition by lsn{{ ', command_id' if has_commands }}
            ) as copies
        from {{ model }}
    )
)
where problem <> ''
{% endtest %}
