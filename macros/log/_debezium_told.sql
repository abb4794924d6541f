{#- Transactions of a connector that sends no BEGIN and END: `source.sequence` says with each event which commit came
    before its transaction, so the next transaction says where this one ended. -#}

{#- Whether an event belongs to a transaction and has no number in it. -#}
{% macro _debezium_is_untold() -%}
coalesce(op in ('c', 'u', 'd', 't', 'm') and transaction.total_order is null and source.txId is not null, false)
{%- endmacro %}


{#- CTE `events` out of `landed_events`: events without a number get one, in the order of their WAL positions, and each
    transaction an END, once a later one has landed. Several events may have one position, as the rows of one INSERT:
    they stay in the order of their arrival. Equal rows are copies if they have the same text, or come after the
    connector has gone back; with a key, also if they were sent a second later or more. A key that is set by
    message.key.columns need not be unique: equal rows that were sent together are several. -#}
{% macro _debezium_told(batch) -%}
{%- set names = dbt_cdc._debezium_event_columns(batch) -%}
runs as (
    select
        *,
        count_if(goes_back) over (partition by xid, previous_end, topic order by position) as run
    from (
        select
            *,
            lag(wal) over (partition by xid, previous_end, topic order by position) > wal as goes_back
        from landed_events
        where is_untold
    )
),

equal_rows as (
    select
        *,
        dense_rank() over (
            partition by xid, previous_end, topic, wal, content, run, seconds order by event_text
        ) as number_of_equal,
        not has_key and sent_at - lag(sent_at) over (
            partition by xid, previous_end, topic, wal, content, run order by position
        ) >= 1000 as may_be_copy
    from (
        select
            *,
            if(has_key, (sent_at - min(sent_at) over (
                partition by xid, previous_end, topic, wal, content, run
            )) div 1000, 0) as seconds
        from runs
    )
),

numbered as (
    select
        *,
        dense_rank() over (partition by xid, previous_end order by wal, first_position) as number
    from (
        select
            *,
            min(position) over (
                partition by xid, previous_end, wal, content, number_of_equal
            ) as first_position
        from equal_rows
    )
),

-- the commit before each transaction; behind a new slot the first one tells none
sequences as (
    select
        xid,
        coalesce(previous_end, {{ 'max(snapshot_wal), ' if batch.has_later_rows }}first_wal - 1) as place,
        last_wal,
        last_position,
        events
    from (
        select
            xid,
            previous_end,
            min(wal) as first_wal,
            max(wal) as last_wal,
            max(position) as last_position,
            max(number) as events
        from (
            select xid, previous_end, wal, position, number from numbered
            union all
            select xid, previous_end, wal, position, null from landed_events
            -- before the first commit of a slot a message tells none
            where has_sequence and not is_untold and kind <> 'r' and not (previous_end is null and xid = '')
        )
        group by xid, previous_end
    )
    {%- if batch.has_later_rows %}
    left join (
        select distinct wal as snapshot_wal from landed_events where kind = 'r'
    ) on previous_end is null and snapshot_wal <= first_wal
    group by xid, previous_end, first_wal, last_wal, last_position, events
    {%- endif %}
),

ends as (
    select
        *,
        min(place) over (order by place desc range between unbounded preceding and 1 preceding) as next_place
    from sequences
),

events as (
    select
        {%- for name in names %}
        {{ 'cast(null as bigint) as ' if name == 'ended_at' }}{{ name }}{{ ',' if not loop.last }}
        {%- endfor %}
    from landed_events
    where not is_untold
    union all
    select
        {%- for name in names %}
        {{ {'slot': dbt_cdc._debezium_slot_of_untold(batch), 'ended_at': 'null'}.get(name, name) }} as {{ name }}
        {{- ',' if not loop.last }}
        {%- endfor %}
    from numbered
    union all
    select
        {{ dbt_cdc._debezium_event(batch, {
            'kind': "'END'", 'xid': 'xid', 'slot': dbt_cdc._debezium_last_slot(), 'event_count': 'events',
            'wal': 'if(place < ' ~ batch.last_place ~ ', greatest(last_wal, place) + 1, next_place)',
            'ended_at': 'last_position',
        }) }}
    from ends
    {%- if batch.has_old_events %}
    left anti join (
        select
            tran_id,
            {{ dbt_cdc._debezium_commit_number() }} as commit_number
        from {{ batch.log }}
        where operation = 'COMMIT' and lsn > '{{ dbt_cdc._debezium_lsn(batch.first_change) }}'
    ) as known on place < {{ batch.last_place }} and known.tran_id = ends.xid and known.commit_number > ends.last_wal
    {%- endif %}
    where events is not null and xid <> '' and (next_place is not null or place < {{ batch.last_place }})
)
{%- endmacro %}


{#- The number of an event, or the error where nothing tells whether it is a copy. -#}
{% macro _debezium_slot_of_untold(batch) -%}
case
            when may_be_copy
                then {{ dbt_cdc._raise_bad_record(
                    "concat('transaction ', xid, ', event at position ', position, ' of topic ', topic)",
                    "concat('it is equal to the one before it in ', source_schema, '.', source_name, "
                    ~ "', which has no key, and was sent a second later or more: another row, or the same one sent "
                    ~ "again by a connector that restarted')",
                    'let the connector number the events, by provide.transaction.metadata=true; give the table a key; '
                    ~ 'or take key and value from the copy: '
                    ~ dbt_cdc._take_out_advice(batch.events, 'position = ...') ~ '; nothing of this batch is in the log'
                ) | indent(16) }}
            else number
        end
{%- endmacro %}
