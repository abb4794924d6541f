{#- SQL Server: each event tells the LSN of its commit and its own, as the change tables of the source have them, and
    the log keeps both. So a transaction is all that has its commit's LSN, and nothing is numbered. -#}

{#- What is wrong with the place of an event, as conditions of _debezium_kind. -#}
{% macro _debezium_sqlserver_faults(place) -%}
when op in ('c', 'u', 'd', 'r') and not coalesce(
            source.commit_lsn rlike '{{ dbt_cdc._debezium_sqlserver_pattern() }}'
            and (op = 'r' or source.change_lsn rlike '{{ dbt_cdc._debezium_sqlserver_pattern() }}'), false
        )
            then {{ dbt_cdc._raise_bad_record(
                place, "concat('its commit_lsn is ', coalesce(source.commit_lsn, 'NULL'), ', its change_lsn ', "
                ~ "coalesce(source.change_lsn, 'NULL'))",
                'land the events as the connector writes them'
            ) | indent(8) }}
        when tableChanges is not null
            then 'm'
{%- endmacro %}


{#- The events. Of the attempts at a snapshot that are not given up counts the first complete one, else the last. -#}
{% macro _debezium_sqlserver_events(batch) %}
    {%- if batch.position is none or batch.has_snapshot_rows %}
    select
        * except (xid),
        if(
            kind = 'r' and not wal <=> (
                select coalesce(min(if(snapshot_mark = 'last', wal, null)), max(wal))
                from landed_events
                where kind = 'r' and not {{ dbt_cdc._is_given_up("concat('snapshot:', wal)") }}
            ),
            concat('snapshot:', wal), xid
        ) as xid
    from landed_events
    {%- else %}
    select * from landed_events
    {%- endif %}
{%- endmacro %}


{#- CTE `changes`: each event once. Its copies have the same place and content. An update of a key, and of a column with
    a unique index, is a delete and a create of one place; their serial numbers follow each other or are the same. They
    were sent in the order of their numbers; where some have none, or a connector that restarted has given some twice,
    of their arrival. -#}
{% macro _debezium_sqlserver_changes() -%}
changes as (
    select
        *,
        coalesce(change_lsn < max(change_lsn) over (
            partition by commit_lsn, topic order by if(is_numbered, first_number, first_position)
            rows between unbounded preceding and 1 preceding
        ), false) as steps_back
    from (
        select
            *,
            -- each has its own, and none is left over
            count(first_number) over same_commit = count(*) over same_commit
            and sum(1 + last_number - first_number) over same_commit
            <=> 1 + max(last_number) over same_commit - min(first_number) over same_commit as is_numbered
        from (
            select
                commit_lsn,
                change_lsn,
                min_by(topic, position) as topic,
                source_schema,
                source_name,
                min(position) as first_position,
                max(position) as last_position,
                min(slot) as first_number,
                max(slot) as last_number,
                array_sort(collect_set(struct(serial, kind <> 'd', kind))).kind as kinds,
                count(distinct content) as contents,
                max(record_time) as record_time,
                max(if(kind in ('d', 'u'), before, null)) as before,
                max(if(kind in ('c', 'u'), after, null)) as after,
                max(encodings) as encodings
            from events
            where kind in ('c', 'u', 'd')
            group by commit_lsn, change_lsn, source_schema, source_name
        )
        window same_commit as (partition by commit_lsn)
    )
)
{%- endmacro %}


{#- CTE `emitted_transactions`: those that are whole, as all before them are. With metadata a transaction is whole when
    its END and as many numbers as it counts have landed, else when an event of a later commit has. What a connector
    that restarted sends again has a number of its own, what lands again has not. -#}
{% macro _debezium_sqlserver_transactions(batch) -%}
{%- set snapshot_lsn = dbt_cdc._debezium_snapshot_lsn() -%}
transactions as (
    select
        xid,
        if(xid = 'snapshot', '{{ snapshot_lsn }}', xid) as commit_lsn,
        max(event_count) as event_count,
        count(distinct if(
            kind in ('c', 'u', 'd'),
            coalesce(cast(slot as string), concat_ws(' ', change_lsn, serial, kind, source_schema, source_name)), null
        )) as landed_events,
        bool_or(has_metadata or kind in ('BEGIN', 'END')) as has_metadata,
        bool_or(kind = 'END') as has_end,
        coalesce(
            max(if(kind in ('c', 'u', 'd', 'r'), record_time, null)), max(record_time)
        ) as commit_time,
        bool_or(snapshot_mark = 'last') as has_last_row,
        {{ dbt_cdc._debezium_begins_again(dbt_cdc._debezium_snapshot_mark(), 'snapshot_row') }} as begins_again,
        max(if(xid = 'snapshot', wal, null)) as first_snapshot,
        min(position) as first_position,
        max(position) as last_position,
        coalesce(
            min(if(kind = 'END', position, null)),
            if(bool_or(has_metadata or kind = 'BEGIN'), null, max(position))
        ) as end_position,
        count_if(kind <> 'm') as landed_rows,
        cast(bool_or(kind = 'BEGIN') as int) as begins,
        count_if(kind = 'm') as messages,
        count_if(kind = 'heartbeat') as heartbeats,
        count_if(kind = 'tombstone') as tombstones
    from events
    group by xid
),

told as (
    select
        *,
        false as is_later,
        case
            when xid = '' then 'passed over'
            when {{ dbt_cdc._is_given_up('xid') }} then 'given up'
            {%- if batch.get('last_lsn') %}
            when startswith(xid, 'snapshot') then 'later snapshot'
            {%- else %}
            when startswith(xid, 'snapshot:') then if(
                xid > concat('snapshot:', max(first_snapshot) over ()),
                {{ dbt_cdc._raise_bad_record(
                    'xid', "'it is a second snapshot of the source'", dbt_cdc._debezium_sqlserver_snapshot_advice()
                ) | indent(16) }},
                'later snapshot'
            )
            {%- endif %}
            when commit_lsn <= '{{ batch.get('last_lsn') or dbt_cdc._zero_lsn() }}'
                then 'in the log'
            else 'new'
        end as fate
    from transactions
),

queue as (
    select
        *,
        case
            when xid = 'snapshot' then has_last_row or max(xid not in ('snapshot', '')) over (partition by fate)
            when has_metadata then has_end and landed_events >= event_count
            else commit_lsn < max(if(xid = 'snapshot', null, commit_lsn)) over (partition by fate)
        end as is_complete,
        -- what lands behind it has not landed in the order of sending
        if(has_metadata, end_position, min(first_position) over (
            partition by fate order by commit_lsn desc rows between unbounded preceding and 1 preceding
        )) as sent_until,
        max(struct(commit_lsn, seen_position, commit_time)) over (
            partition by fate, seen_position is null or xid = 'snapshot' order by seen_position
            rows between unbounded preceding and 1 preceding
        ) as before_it
    -- without transaction metadata events land in one order, and a transaction begins behind those before it
    from (select *, if(has_metadata, end_position, first_position) as seen_position from told)
),

decided as (
    select
        *,
        fate = 'new' and bool_and(is_complete) over (
            partition by fate order by commit_lsn rows between unbounded preceding and current row
        ) as is_emitted
    from queue
),

emitted_transactions as (
    select
        xid,
        case
            when begins_again
                then {{ dbt_cdc._debezium_raise_begins_again('xid', batch) }}
            when gone_back is not null
                then {{ dbt_cdc._debezium_raise_gone_back('another replica') | indent(16) }}
            else commit_lsn
        end as commit_lsn,
        commit_time as begin_time,
        commit_time,
        has_end,
        last_position,
        sent_until,
        resume_position,
        balance
    from (
        select
            *,
            max(case
                when
                    fate = 'new'
                    and before_it.commit_lsn > commit_lsn
                    and before_it.seen_position < first_position
                    and before_it.commit_time < commit_time - interval '10' second
                    then xid
            end) over () as gone_back,
            {{ dbt_cdc._debezium_resume_position(batch, ' over ()') | indent(12) }} as resume_position,
            {{ dbt_cdc._debezium_balance(batch) | indent(12) }} as balance
        from decided
        {{- dbt_cdc._debezium_read_places(batch) | indent(8) if batch.goes_on }}
    )
    where is_emitted
)
{%- endmacro %}


{% macro _debezium_sqlserver_snapshot_advice() %}
    {% do return(
        'nothing of this batch is in the log; write the log anew out of the events from this snapshot on, in a schema '
        ~ 'of its own; or, if nothing was missed, go on without its rows: ' ~ dbt_cdc._give_up(['...']) ~ ' and '
        ~ 'its name'
    ) %}
{% endmacro %}


{#- CTE `records`: the canonical log. -#}
{% macro _debezium_sqlserver_records(batch) -%}
{%- set place = "concat('transaction ', commit_lsn, ', change ', change_lsn)" -%}
emitted_changes as (
    select /*+ broadcast(emitted_transactions) */
        change_lsn as lsn,
        xid,
        commit_lsn,
        case
            when contents > size(kinds) then {{ dbt_cdc._raise_bad_record(
                place, "'events of it differ'", 'land the events as the connector writes them, each as it is'
            ) | indent(16) }}
            when kinds = array('c') then 'INSERT'
            when kinds = array('u') or kinds = array('d', 'c') then 'UPDATE'
            when kinds = array('d') then 'DELETE'
            else {{ dbt_cdc._raise_bad_record(
                place, "concat('its events are ', array_join(kinds, ', '))",
                'nothing of this batch is in the log; to go on without the transaction, give '
                ~ dbt_cdc._give_up(['...']) ~ ' and its name'
            ) | indent(16) }}
        end as operation,
        size(kinds) as events,
        changes.record_time,
        source_schema,
        source_name,
        before as before_image,
        after as after_image,
        -- where a key's changes went back in the source's log, their order is that of their sending
        case
            when not max(steps_back) over (partition by commit_lsn)
                then null
            when not is_numbered and max(first_position) over (partition by commit_lsn) > sent_until
                then {{ dbt_cdc._raise_bad_record(
                    "concat('transaction ', commit_lsn)",
                    "concat('changes of it landed behind position ', sent_until, ', when it had ended, some go back '"
                    ~ " || 'in the log of the source, and no numbers tell their order')",
                    'nothing of this batch is in the log; land all events anew in the order of sending, and write the '
                    ~ 'log anew; or go on without the transaction: give ' ~ dbt_cdc._give_up(['...']) ~ ' and '
                    ~ 'its name'
                ) | indent(16) }}
            else cast(1 + count_if(steps_back) over (
                partition by commit_lsn order by if(is_numbered, first_number, first_position)
            ) as int)
        end as command_id,
        encodings,
        changes.last_position as position,
        resume_position
    from changes
    inner join emitted_transactions using (commit_lsn)
    union all
    select
        concat('0x', lpad(hex(row_number() over (order by first_position)), 20, '0')),
        xid,
        commit_lsn,
        'INSERT',
        1,
        record_time,
        source_schema,
        source_name,
        null,
        after,
        null,
        encodings,
        first_position,
        resume_position
    from (
        select
            snapshot_row,
            min(position) as first_position,
            any_value(record_time) as record_time,
            any_value(source_schema) as source_schema,
            any_value(source_name) as source_name,
            any_value(after) as after,
            any_value(encodings) as encodings
        from events
        where xid = 'snapshot'
        group by snapshot_row
    )
    inner join emitted_transactions on xid = 'snapshot'
),

summaries as (
    select
        commit_lsn,
        min(lsn) as first_lsn,
        count(*) as changes,
        sum(events) as events,
        {{- dbt_cdc._tables_by_operation() }}
    from emitted_changes
    group by commit_lsn
),

records as (
    select
        lsn,
        xid as tran_id,
        operation,
        record_time,
        source_schema,
        source_name,
        before_image,
        after_image,
        cast(null as string) as ddl_command,
        command_id,
        encodings,
        cast(null as bigint) as source_lsn,
        cast(null as string) as source_database,
        cast(null as bigint) as events,
        cast(null as string) as balance,
        cast(null as string) as `transaction`,
        position,
        resume_position
    from emitted_changes
    union all
    select
        commit_lsn,
        xid,
        'COMMIT',
        commit_time,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        {{ dbt_cdc._literal(batch.database) if batch.database else 'null' }},
        if(xid = 'snapshot', null, coalesce(events, 0) + cast(has_end as int)),
        balance,
        {{ dbt_cdc._transaction_summary(
            'coalesce(first_lsn, commit_lsn)', 'coalesce(changes, 0) + 1', 'coalesce(inserted, array())',
            'coalesce(deleted, array())', 'coalesce(updated, array())'
        ) | indent(8) }},
        last_position,
        resume_position
    from emitted_transactions
    left join summaries using (commit_lsn)
)
{%- endmacro %}
