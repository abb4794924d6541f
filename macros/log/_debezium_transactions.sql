{#- CTE `emitted_transactions`: those that are whole, as all before them are. Their events are those of `xid` from
    `first_wal` up to `last_wal`. A connector sends one transaction after the other, in the order of their commits: one
    whose END has not landed may be before all those whose END landed after its events. -#}
{% macro _debezium_transactions(batch) -%}
{%- set snapshot_commit = dbt_cdc._debezium_snapshot_commit() -%}
slots as (
    -- a number of two contents: the connector restarted inside the transaction, and numbered its events anew
    select
        xid,
        commit_number,
        slot,
        count(position) as landed_rows,
        count_if(kind = 'm') as messages,
        count_if(kind = 'heartbeat') as heartbeats,
        count_if(kind = 'tombstone') as tombstones,
        min(content) <> max(content) as has_other_content,
        max(event_count) as event_count,
        min(event_count) as last_count,
        max(case when kind not in ('BEGIN', 'END') then slot end) as change_slot,
        min(case when kind = 'BEGIN' then record_time end) as begin_time,
        max(case when kind not in ('BEGIN', 'END') then record_time end) as change_time,
        max(case when kind = 'END' then record_time end) as end_time,
        bool_or(snapshot_mark = 'last') as is_last_row,
        -- numbers, as a text would have Spark sort all events
        max({{ dbt_cdc._debezium_snapshot_mark() }}) as mark,
        max(xxhash64(snapshot_row)) as marked_row,
        {{ 'max(server) as server,' if batch.is_binlog }}
        min(wal) as first_wal,
        max(wal) as last_wal,
        min(position) as first_position,
        max(position) as last_position,
        min(case when kind = 'END' then {{ 'coalesce(position, ended_at)' if batch.has_untold else 'position' }} end)
            as end_position
    from owned
    group by xid, commit_number, slot
),

transactions as (
    select
        xid,
        commit_number,
        max(event_count) as event_count,
        -- a connector that restarted sends another END, which counts the events since then
        min(last_count) as last_count,
        count(change_slot) as landed_events,
        coalesce(bool_or(has_other_content), false) as is_restarted,
        case when xid <> 'snapshot' then greatest(
            max(change_slot), case when bool_or(has_other_content) then sum(landed_rows) end
        ) end as last_ordinal,
        min(begin_time) as begin_time,
        coalesce(min_by(change_time, case when is_last_row then slot end), max(change_time)) as change_time,
        max(end_time) as end_time,
        coalesce(bool_or(is_last_row), false) as has_last_row,
        {{ dbt_cdc._debezium_begins_again('mark', 'marked_row') }} as begins_again,
        min(first_wal) as first_wal,
        coalesce(commit_number, max(last_wal)) as place,
        min(first_position) as first_position,
        max(last_position) as last_position,
        min(end_position) as end_position,
        {{ 'max(server) as server,' if batch.is_binlog }}
        sum(landed_rows - messages) as landed_rows,
        -- of a number whose rows are alike one is the event; else, and of a snapshot, the log's records tell
        if(is_restarted or xid = 'snapshot', null, sum(greatest(landed_rows - messages - 1, 0))) as copies,
        count(case when slot = 0 and landed_rows > 0 then begin_time end) as begins,
        {{ "coalesce(max(case when slot = 0 then landed_rows end) > 1, false) as begins_twice,"
            if not batch.is_binlog }}
        sum(messages) as messages,
        sum(heartbeats) as heartbeats,
        sum(tombstones) as tombstones
    from slots
    group by xid, commit_number
),

attempts as (
    select
        *,
        -- of several attempts at the first snapshot counts the first complete one, else the last; behind a commit
        -- there is none
        case when xid = 'snapshot' then
            {%- if batch.snapshot_wal is not none %} {{ batch.snapshot_wal }}
            {%- else %} coalesce(
                min_by(first_wal, case when is_first and has_last_row then first_position end) over (partition by xid),
                max(case when is_first then first_wal end) over (partition by xid),
                -1
            )
            {%- endif %}
        end as snapshot_wal,
        max(first_wal) over (partition by xid) as last_attempt
    from
    {%- if batch.snapshot_wal is not none %} transactions
    {%- else %} (
        select
            *,
            coalesce(first_wal < min(case when xid <> 'snapshot' then commit_number end) over (), true) as is_first
        from transactions
    )
    {%- endif %}
),

told as (
    select
        * except (commit_number),
        if(first_wal = snapshot_wal, {{ snapshot_commit }}, commit_number) as commit_number,
        coalesce(first_wal > snapshot_wal, false) as is_later,
        case
            when xid = '' then 'passed over'
            when {{ dbt_cdc._is_given_up(shares_xid='coalesce(first_wal > snapshot_wal, false)') }} then 'given up'
            when
                first_wal < snapshot_wal
                or (first_wal > snapshot_wal and first_wal < last_attempt and not has_last_row)
                then 'later snapshot'
            when if(first_wal = snapshot_wal, {{ snapshot_commit }}, commit_number) <= {{ batch.last_commit }}
                then if(xid = 'snapshot', 'later snapshot', 'in the log')
            else 'new'
        end as fate
    from attempts
),

queue as (
    select
        *,
        case
            when is_later then has_last_row
            when xid = 'snapshot'
                then has_last_row or max(xid not in ('snapshot', '')) over (partition by fate)
            else commit_number is not null and landed_events >= event_count
        end as is_complete,
        coalesce(
            min(case when commit_number is null then first_position end) over (partition by fate order by place)
            -- what landed before the first snapshot may have committed before it: then it is a later one
            < if(xid = 'snapshot', first_position, end_position), false
        ) as has_open_before,
        {%- if batch.is_binlog %}
        -- without transaction metadata also the last one, which waits, is before what lands behind it
        max(if(seen_position is null, null, struct(
            coalesce(commit_number, place + 1) as commit_number, seen_position as end_position, change_time, server
        ))) over (
            partition by fate order by seen_position rows between unbounded preceding and 1 preceding
        ) as before_it,
        {%- else %}
        max(if(end_position is null, null, struct(commit_number, end_position, change_time))) over (
            partition by fate order by end_position rows between unbounded preceding and 1 preceding
        ) as before_it,
        {%- endif %}
        coalesce(
            lag(commit_number) over (partition by fate order by commit_number nulls last),
            {%- if batch.last_commit %}
            {{ batch.last_commit }}
            {%- else %}
            if(commit_number = {{ snapshot_commit }}, 0, {{ snapshot_commit }})
            {%- endif %}
        ) as previous_commit
    from {{ '(select *, if(begins > 0, end_position, coalesce(end_position, last_position)) as seen_position from told)'
        if batch.is_binlog else 'told' }}
),

decided as (
    select
        *,
        fate = 'new' and bool_and(is_ready) over (
            partition by fate order by commit_number nulls last rows between unbounded preceding and current row
        ) as is_emitted
    from (
        select
            *,
            is_complete and not has_open_before
            {%- set waits = (['is_later'] if batch.has_later_rows else [])
                + (['begins_twice'] if not batch.is_binlog else []) %}
            {%- if waits %}
            -- before a later snapshot come all transactions that it may have seen: it waits for one behind it. So does
            -- a transaction in which the connector restarted: its END does not count what was sent before
            and (not ({{ waits | join(' or ') }}) or coalesce(max(
                case when xid <> 'snapshot' and is_complete and not has_open_before then commit_number end
            ) over (partition by fate) > commit_number, false))
            {%- endif %} as is_ready
        from queue
    )
),

emitted_transactions as (
    select
        xid,
        commit_number,
        is_restarted,
        event_count as first_count,
        last_count,
        is_later,
        {{ dbt_cdc._debezium_check_room(batch) | indent(4) }} as previous_commit,
        coalesce(begin_time, change_time, end_time) as begin_time,
        {{ 'greatest' if batch.is_binlog else 'coalesce' }}(change_time, end_time) as commit_time,
        first_wal,
        if(xid = 'snapshot', first_wal, commit_number) as last_wal,
        first_position,
        last_position,
        resume_position,
        balance
    from (
        select
            *,
            -- it began behind the other's END; its LSN is lower, and its time later by more than clocks may differ
            max(case
                when
                    before_it.commit_number > commit_number
                    and before_it.end_position < first_position
                    and (
                        before_it.change_time < change_time - interval '10' second
                        {{- ' or before_it.server <> server' if batch.is_binlog }}
                    )
                    then concat_ws(':', xid, commit_number)
            end) over () as gone_back,
            {{ dbt_cdc._debezium_resume_position(batch, ' over ()') | indent(12) }} as resume_position,
            {{ dbt_cdc._debezium_balance(batch) | indent(12) }} as balance
        from decided
        {{- dbt_cdc._debezium_read_places(batch) | indent(8) if batch.goes_on }}
    )
    where is_emitted
)
{%- endmacro %}


{#- Up to where the log has read: the next run starts before the first event that this one leaves out. -#}
{% macro _debezium_resume_position(batch, over='') -%}
coalesce(
    min(case when fate = 'new' and not is_emitted then first_position end){{ over }} - 1,
    {{ 'max(last_position)' ~ over if batch.last_position is none else batch.last_position }}
)
{%- endmacro %}


{#- How many events had landed up to there, and how many of them were there twice: what the next run finds more landed
    late, and no run would read it. `places` are those of this batch, `low_position` is the lowest that is there. No CTE
    of its own: Spark's analyzer takes several steps for each. -#}
{% macro _debezium_read_places(batch) %}
cross join (
    select
        {{ batch.landed_below }} + count(*) as landed_below,
        {{ batch.copies_below }} + count(*) - count(distinct position, coalesce(topic, '')) as copies_below,
        count(distinct position, coalesce(topic, '')) as places,
        {{ 'min(position)' if batch.low_position is none else batch.low_position }} as low_position
    from landed
    where position <= (
        select {{ dbt_cdc._debezium_resume_position(batch) | indent(8) }} from decided
    )
)
{%- endmacro %}


{#- What became of the events of a batch, as JSON: rows that have landed, by fate. -#}
{% macro _debezium_balance(batch) -%}
to_json(named_struct(
    'first_position', min(first_position) over (),
    'last_position', max(last_position) over (),
    'taken', sum(case when is_emitted and not is_later then landed_rows end) over (),
    'begins', sum(case when is_emitted then begins end) over (),
    {%- if not batch.is_sqlserver %}
    'copies', if(
        count_if(is_emitted and not is_later and copies is null) over () > 0, null,
        sum(case when is_emitted and not is_later then copies end) over ()
    ),
    {%- endif %}
    'copies_in_log', sum(case when fate = 'in the log' then landed_rows end) over (),
    'waiting', sum(case when fate = 'new' and not is_emitted then landed_rows end) over (),
    'given_up', sum(case when fate = 'given up' then landed_rows end) over (),
    'later_snapshots', sum(
        case when fate = 'later snapshot' or (is_emitted and is_later) then landed_rows end
    ) over (),
    'heartbeats', sum(heartbeats) over (),
    'tombstones', sum(tombstones) over (),
    'messages', sum(messages) over ()
    {%- if batch.goes_on %},
    'read_position', {{ dbt_cdc._debezium_resume_position(batch, ' over ()') | indent(4) }},
    'landed_below', landed_below,
    'copies_below', copies_below,
    'places', places,
    'low_position', low_position
    {%- endif %}
))
{%- endmacro %}


{#- The first and the last row of a snapshot, and of a table in it, tell so. Two such rows of a table at one place are
    of two attempts, as of a connector that broke off and began again where nothing was committed in between, or of a
    blocking snapshot of some tables, to which a connector that has made its slot gives the place of the slot. -#}
{% macro _debezium_snapshot_mark() -%}
if(
    snapshot_mark rlike 'first|last', xxhash64(substring(snapshot_mark, 1, 4), source_schema, source_name), null
)
{%- endmacro %}


{% macro _debezium_begins_again(mark, row) -%}
size(collect_set(if({{ mark }} is null, null, struct({{ mark }}, {{ row }})))) > size(collect_set({{ mark }}))
{%- endmacro %}


{% macro _debezium_raise_begins_again(place, batch) -%}
{{ dbt_cdc._raise_bad_record(
    place, "'the snapshot has two first or two last rows there: the connector broke off and began again, or took a '"
    ~ " || 'second one where nothing was committed, and nothing tells the rows of one from those of the other'",
    'nothing of this batch is in the log; take key and value from the rows of the first attempt, those of op r '
    ~ 'of the tables that the second one has, whose ts_ms is below that of the last row marked first: '
    ~ dbt_cdc._take_out_advice(batch.events) ~ '; and run again'
) }}
{%- endmacro %}


{% macro _debezium_raise_gone_back(other) -%}
{{ dbt_cdc._raise_bad_record(
    "concat('transaction ', gone_back)",
    "'it landed behind a transaction that committed earlier, and at a higher LSN: LSNs of the source went back (a "
    ~ "restored backup, a failover, " ~ other ~ ")'",
    'nothing of this batch is in the log; give the events of the new beginning a log and a schema of their own'
) }}
{%- endmacro %}


{#- Events are numbered between two commits; a transaction has to fit there. LSNs follow the time of the commits. -#}
{% macro _debezium_check_room(batch) -%}
    case
        {%- if not batch.has_later_rows %}
        when is_later
            then {{ dbt_cdc._raise_bad_record(
                "concat('snapshot:', commit_number)", "'it is a second snapshot of the source'",
                'build the log with dbt run, as an incremental model'
            ) }}
        {%- endif %}
        when begins_again
            then {{ dbt_cdc._debezium_raise_begins_again("concat('snapshot:', commit_number)", batch) }}
        when gone_back is not null
            then {{ dbt_cdc._debezium_raise_gone_back('a new cluster') }}
        when (1 + last_ordinal) div {{ 2 ** 24 }} >= commit_number - previous_commit
            then {{ dbt_cdc._raise_bad_record(
                "concat('transaction ', xid)",
                "concat('it has ', landed_events, ' events, more than there is room for before its'"
                ~ ", ' commit at ', commit_number)",
                'split the transaction or leave its events out of the relation'
            ) }}
        else previous_commit
    end
{%- endmacro %}
