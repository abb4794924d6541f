{#- CTE `records`: the canonical log. A number n = commit_number * 2^24 + ordinal has 80 bits; it is
    made of two bigints, `high` and `low`. -#}
{% macro _debezium_records(batch) -%}
operations as (
    select
        *,
        explode(case
            when is_ambiguous
                then array({{ dbt_cdc._debezium_raise_ambiguous() | indent(16) }})
            when not ({{ dbt_cdc._debezium_is_in_place() | indent(12) }})
                then array({{ dbt_cdc._debezium_raise_not_in_place() | indent(16) }})
            when kind = 'END' then array('BEGIN', 'COMMIT')
            when kind = 'r' and (ordinal = 1 or is_last)
                then concat(
                    if(ordinal = 1, array('BEGIN'), array()), array('INSERT'), if(is_last, array('COMMIT'), array())
                )
            when kind = 'r' then array('INSERT')
            {%- if not batch.is_binlog %}
            when kind = 'c' and lacks_values and not is_new_half
                then array({{ dbt_cdc._debezium_raise_lacks_values() | indent(16) }})
            {%- endif %}
            when kind = 'c' then array(if(is_new_half, 'UPDATE', 'INSERT'))
            when kind = 'u' then array('UPDATE')
            when kind = 'd' and not is_old_half then array('DELETE')
            when kind = 't' then array('TRUNCATE')
            when kind = 'ddl' then array('DDL')
        end) as operation
    from changes
),

placed as (
    select
        *,
        operation not in ('BEGIN', 'COMMIT') as is_change,
        case
            when operation = 'COMMIT' then commit_number
            when operation = 'BEGIN' then previous_commit
            else previous_commit + (1 + ordinal) div {{ 2 ** 24 }}
        end as high,
        case
            when operation = 'COMMIT' then 0
            when operation = 'BEGIN' then 1
            else (1 + ordinal) % {{ 2 ** 24 }}
        end as low
    from operations
),

records as (
    select
        {{ dbt_cdc._debezium_lsn_sql('high', 'low') }} as lsn,
        xid as tran_id,
        operation,
        case operation
            when 'BEGIN' then begin_time
            when 'COMMIT' then commit_time
            else record_time
        end as record_time,
        case when is_change then source_schema end as source_schema,
        case when is_change then source_name end as source_name,
        case when is_change and kind <> 'ddl' then if(is_new_half, deleted_image, before) end as before_image,
        case when is_change then after end as after_image,
        {{ "case when kind = 'ddl' then before end" if batch.is_binlog
            else 'cast(null as string)' }} as ddl_command,
        cast(null as int) as command_id,
        case when is_change then encodings end as encodings,
        case when is_change then wal end as source_lsn,
        {%- set database = dbt_cdc._literal(batch.database) if batch.database else 'cast(null as string)' %}
        case when operation = 'COMMIT' then {{ database }} end as source_database,
        case when operation = 'COMMIT' and xid <> 'snapshot' then events end as events,
        case when operation = 'COMMIT' then balance end as balance,
        {{ dbt_cdc._debezium_told_summary() | indent(8) }} as `transaction`,
        position,
        resume_position
    from placed
)
{%- endmacro %}


{#- The column `transaction` of a COMMIT, as told_transactions.sql reads it. None where the place of a TRUNCATE is not
    that of its number. -#}
{% macro _debezium_told_summary() -%}
{%- set tables = {} -%}
{%- for kind in ['c', 'd', 'u'] -%}
    {%- do tables.update({kind: "array_sort(transform(filter(touched, it -> it.kind = '" ~ kind
        ~ "'), it -> named_struct('source_schema', it.source_schema, 'source_name', it.source_name)))"}) -%}
{%- endfor -%}
{%- set truncates -%}
transform(array_sort(
        filter(touched, it -> it.slot is not null), (one, other) -> int(sign(one.slot - other.slot))
    ), emptied -> {{ dbt_cdc._schema_change(
        'emptied.',
        dbt_cdc._debezium_lsn_sql(
            'previous_commit + (1 + emptied.slot) div ' ~ 2 ** 24, '(1 + emptied.slot) % ' ~ 2 ** 24),
        'cast(emptied.record_time as string)',
        "if(emptied.kind = 't', 'TRUNCATE', 'DDL')"
    ) }})
{%- endset -%}
case when operation = 'COMMIT' and not (is_restarted and exists(touched, it -> it.slot is not null))
then {{ dbt_cdc._transaction_summary(
    dbt_cdc._debezium_lsn_sql('previous_commit', '1'), 'logged_changes + 2',
    tables.c, tables.d, tables.u, truncates
) }} end
{%- endmacro %}
