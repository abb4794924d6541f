{#- What of SQL Server's snapshots the log has already or cannot take in, and what waits. -#}

{#- A row of a snapshot that lands when the log has begun is a copy of one that it has, or stops the log. -#}
{% macro _debezium_sqlserver_check_snapshot(events, batch) %}
    {% set late = [] %}
    {% for row in dbt_cdc._fetch(dbt_cdc._debezium_sqlserver_late_rows(events, batch))
        if row.name not in dbt_cdc._given_up() %}
        {% do late.append(row) %}
    {% endfor %}
    {% do dbt_cdc.raise_cdc_error(
        22859, late[0].name ~ ': ' ~ late[0].late_rows ~ ' rows of a snapshot landed behind what the log has, the '
        ~ 'first at position ' ~ late[0].position ~ ': a later snapshot of the source, or a part of the first one '
        ~ 'that landed late',
        dbt_cdc._debezium_sqlserver_snapshot_advice()
    ) if late %}
{% endmacro %}


{% macro _debezium_sqlserver_late_rows(events, batch) -%}
with snapshot_rows as (
    select
        position,
        topic,
        value,
        from_json(
            coalesce(get_json_object(value, '$.source'), get_json_object(value, '$.payload.source')),
            'commit_lsn string'
        ) as source
    from {{ events }}
    where
        position <= {{ batch.last_position }}
        -- most events need no parser; a column of a table may have the name, too
        and value rlike '"op"\\s*:\\s*"r"'
        and coalesce(get_json_object(value, '$.op'), get_json_object(value, '$.payload.op')) = 'r'
),

known as (
    select topic, value
    from snapshot_rows
    left semi join (
        select position from {{ batch.log }} where operation = 'INSERT' and tran_id = 'snapshot'
    ) as logged on snapshot_rows.position = logged.position
    union
    select topic, value from snapshot_rows where position <= {{ batch.position }}
)

select
    concat('snapshot:', {{ dbt_cdc._debezium_wal(batch) }}) as name,
    count(*) as late_rows,
    min(position) as position
from snapshot_rows
left anti join known on snapshot_rows.topic <=> known.topic and snapshot_rows.value = known.value
where position > {{ batch.position }}
group by all
order by name
{%- endmacro %}


{#- As the model waiting_transactions describes them, the one that the others wait for first. -#}
{% macro _debezium_sqlserver_waiting(adapter_log, batch) -%}
with {{ dbt_cdc._debezium_events(adapter_log.events, batch, adapter_log.before_images) }},

{{ dbt_cdc._debezium_sqlserver_transactions(batch) }}

select
    xid as tran_id,
    if(xid = 'snapshot' or not has_end, null, commit_lsn) as commit_lsn,
    landed_events,
    event_count,
    cast(commit_time as string) as since,
    first_position,
    case
        when xid = 'snapshot' then 'the last row of the snapshot has not landed'
        when is_complete then 'all its events have landed, those of an earlier one have not'
        when not has_metadata then '{{ dbt_cdc._no_later_one() }}'
        when has_end then concat(landed_events, ' of ', event_count, ' events have landed')
        else concat(landed_events, if(landed_events = 1, ' event has', ' events have'), ' landed, its END has not')
    end as reason,
    count(*) over () - row_number() over (order by commit_lsn) as waiting_commits
from decided
where fate = 'new' and not is_emitted
order by commit_lsn
limit 1000
{%- endmacro %}
