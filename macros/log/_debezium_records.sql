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
            when kind = 'r' and ordinal = 1 then array('BEGIN', 'INSERT', 'COMMIT')
            when kind = 'r' then array('INSERT')
            when kind = 'c' then array(if(is_new_half, 'UPDATE', 'INSERT'))
            when kind = 'u' then array('UPDATE')
            when kind = 'd' and not is_old_half then array('DELETE')
            when kind = 't' then array('TRUNCATE')
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
        case when is_change then if(is_new_half, deleted_image, before) end as before_image,
        case when is_change then after end as after_image,
        cast(null as string) as ddl_command,
        cast(null as int) as command_id,
        case when is_change then encodings end as encodings,
        case when is_change then wal end as source_lsn,
        {%- set database = dbt_cdc._literal(batch.database) if batch.database else 'cast(null as string)' %}
        case when operation = 'COMMIT' then {{ database }} end as source_database,
        case when operation = 'COMMIT' and xid <> 'snapshot' then events end as events,
        case when operation = 'COMMIT' then balance end as balance,
        position,
        resume_position
    from placed
)
{%- endmacro %}
