{#- Lines of transactions at or below the log's end are copies of what the log has, or they stop it: nothing can take
    them in. Only for a batch with such lines. -#}
{% macro _wal2json_check_old_lines(events, batch) %}
    {% set late, other = [], [] %}
    {% for row in dbt_cdc._fetch(dbt_cdc._wal2json_old_lines(events, batch)) %}
        {% do (late if row.is_late else other).append(row) %}
    {% endfor %}
    {% set advice = '; where the source began anew, give its lines a log and a schema of their own; to go on without '
        ~ 'what is named, give ' ~ dbt_cdc._give_up((late or other)[:5] | map(attribute='tran_id') | list)
        ~ '; nothing of this batch is in the log' %}
    {% if late %}
        {% do dbt_cdc.raise_cdc_error(
            22859,
            'transaction' ~ dbt_cdc._debezium_named(late) ~ ' committed at or below the end of the log, '
            ~ dbt_cdc._debezium_lsn(batch.last_commit) ~ ', and is not in it: its lines landed late, or the LSNs of '
            ~ 'the source went back (a restored backup, a failover, a new cluster)',
            'where they landed late, '
            ~ dbt_cdc._anew_advice(batch.log, ', which tells how to put them where they committed,') ~ advice
        ) %}
    {% elif other %}
        {% do dbt_cdc.raise_cdc_error(
            22859,
            'transaction' ~ dbt_cdc._debezium_named(other) ~ ' landed again, unlike what the log has of it: '
            ~ other[0].lines ~ ' lines, the first at position ' ~ other[0].first_position,
            'correct the lines, or delete them' ~ advice
        ) %}
    {% endif %}
{% endmacro %}


{#- By transaction what is no copy: of a C a COMMIT with as many changes is one, of a change a record of its place and
    images. -#}
{% macro _wal2json_old_lines(events, batch) -%}
with {{ dbt_cdc._wal2json_lines(events, dict(batch, has_repeats=false)) }},

{{ dbt_cdc._wal2json_attempts(dict(batch, has_repeats=false)) }},

old_attempts as (
    select *
    from attempts
    where
        commit_number <= {{ batch.last_commit }}
        and changes > 0
        and not {{ dbt_cdc._is_given_up() }}
),

old_lines as (
    select
        lines.*,
        old_attempts.commit_number,
        old_attempts.changes,
        {{ dbt_cdc._debezium_lsn_sql('commit_number') }} as commit_lsn
    from lines
    inner join old_attempts
        on
            lines.xid = old_attempts.xid
            and position between first_position and last_position
            and action not in ('B', 'M')
),

logged as (
    select
        lsn,
        tran_id,
        operation,
        source_schema as logged_schema,
        source_name as logged_name,
        before_image,
        after_image,
        source_lsn,
        events
    from {{ batch.log }}
),

unknown as (
    select old_lines.*
    from old_lines
    left anti join logged
        on
            xid = tran_id
            and action = if(operation = 'COMMIT', 'C', left(operation, 1))
            and lsn <= commit_lsn
            and (action <> 'C' or (lsn = commit_lsn and events = changes))
            and (action = 'C' or (
                wal = source_lsn
                and source_schema = logged_schema
                and source_name = logged_name
                and after <=> after_image
                and before <=> before_image
            ))
)

select
    concat_ws(':', unknown.xid, commit_number) as tran_id,
    max(known.lsn) is null as is_late,
    count(*) as `lines`,
    min(position) as first_position
from unknown
left join logged as known on known.operation = 'COMMIT' and known.tran_id = unknown.xid and known.lsn = commit_lsn
group by unknown.xid, commit_number
order by commit_number
limit 1000
{%- endmacro %}
