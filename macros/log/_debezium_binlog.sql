{#- MySQL and MariaDB: the binary log has one transaction after the other, in the order of their commits, and each event
    tells its place there: file, position and row. So an event's `wal` is the file's number and the position, and a
    transaction ends right behind its last event; BEGIN and END have no place of their own. -#}

{#- The transaction of an event: its GTID, else the place where it begins, as Debezium writes it. A TRUNCATE or DDL is a
    transaction by itself, which no BEGIN and END is sent for. -#}
{% macro _debezium_binlog_xid(is_ddl, transaction_id) -%}
coalesce(
            {{ transaction_id }}, source.gtid,
            case when {{ is_ddl }} then concat('file=', source.file, ',pos=', source.pos) end
        )
{%- endmacro %}


{#- What is wrong with the place of an event, as conditions of _debezium_kind. -#}
{% macro _debezium_binlog_faults(place) -%}
when status is null and value rlike '"op"|"ddl"' and not coalesce(
            source.file rlike '[.][0-9]{1,7}\\z' and cast(source.pos as bigint) between 0 and {{ 2 ** 32 - 1 }}, false
        )
            then {{ dbt_cdc._raise_bad_record(
                place,
                "concat('its place in the binary log is ', coalesce(source.file, 'NULL'), ', ', "
                ~ "coalesce(source.pos, 'NULL'))",
                'land the events as the connector writes them; a binary log file may have 4 GB, and a number of 7 '
                ~ 'digits'
            ) | indent(8) }}
        when op in ('c', 'u', 'd') and coalesce(transaction.id, source.gtid) is null
            then {{ dbt_cdc._raise_bad_record(
                place, "'it does not tell its transaction'",
                'set provide.transaction.metadata=true in the connector, or gtid_mode=ON in MySQL'
            ) | indent(8) }}
        when op = 't' and coalesce(source.table, '') = ''
            then {{ dbt_cdc._raise_bad_record(
                place, "'it is a TRUNCATE, and its source does not tell the table'",
                'read the source with a newer Debezium and skipped.operations=none; where the topic of the table has '
                ~ 'the TRUNCATE, or no one captures it, take key and value from its row (set key = null, value = null; '
                ~ 'a row that is deleted lands again), and run again'
            ) | indent(8) }}
        when ddl rlike '(?is)^{{ dbt_cdc._debezium_gap() }}*+{{ dbt_cdc._debezium_emptying_ddl() }}'
            and coalesce(source.snapshot, 'false') = 'false' and coalesce(tableChanges, '[]') = '[]'
            then {{ dbt_cdc._raise_bad_record(
                place, "concat('it empties tables, and its tableChanges do not tell which: ', left(ddl, 100))",
                'where no one captures a table of it, take key and value from its row (set key = null, value = null; a '
                ~ 'row that is deleted lands again); else give its tableChanges a {"type": "DROP", "id": '
                ~ '"\\"shop\\".\\"orders\\""} for each (an UPDATE, sent by run_statement); and run again'
            ) | indent(8) }}
        when ddl rlike '(?is)^{{ dbt_cdc._debezium_moving_ddl() }}'
            and coalesce(source.snapshot, 'false') = 'false' and coalesce(tableChanges, '[]') <> '[]'
            then {{ dbt_cdc._raise_bad_record(
                place,
                "concat('it moves a table to another database, and does not tell from which: ', left(ddl, 100))",
                'write the database before the old name in its ddl (an UPDATE, sent by run_statement), and run again'
            ) | indent(8) }}
        when op in ('u', 'd') and not {{ dbt_cdc._is_given_up('coalesce(transaction.id, source.gtid)') }}
            and has_unavailable and {{ dbt_cdc._debezium_image('before') | indent(8) }} <> before
            then {{ dbt_cdc._raise_bad_record(
                place, "'its before image leaves out values'",
                'set binlog_row_image=FULL in the server; of changes that are past nothing tells the values: give '
                ~ 'their transactions up (cdc_give_up_transactions), or begin the log anew with a new snapshot'
            ) | indent(8) }}
        when ddl is not null or source is not null and tableChanges is not null
            then if(
                coalesce(source.snapshot, 'false') = 'false'
                and (tableChanges <> '[]' or coalesce({{ dbt_cdc._debezium_untold_name() }} <> '', false)),
                'ddl', 'm'
            )
{%- endmacro %}


{#- Whether an event of the topic of schema changes is a TRUNCATE. It is read as the event of the table's topic, which
    it is a copy of: where the connector skips these, as it does by default, there is no other. -#}
{% macro _debezium_is_truncate() -%}
coalesce(
    coalesce(event.payload.source.snapshot, event.source.snapshot, 'false') = 'false'
    and coalesce(event.payload.ddl, event.ddl)
    rlike '(?is)^{{ dbt_cdc._debezium_gap() }}*+truncate\\b',
    false
)
{%- endmacro %}


{#- What may be between two words of a statement, as a regular expression in a literal. -#}
{% macro _debezium_gap() -%}
(?:\\s+|/[*](?!M?!).*?[*]/|/[*]M?!\\d*|--[^\\n]*\\n|#[^\\n]*\\n)
{%- endmacro %}


{#- DDL that the connector does not parse, or whose tables it does not list: it takes the second for one that leaves a
    table as it is. -#}
{% macro _debezium_emptying_ddl() -%}
{%- set gap = dbt_cdc._debezium_gap() ~ '++' -%}
(?:drop{{ gap }}(?:database|schema)|create{{ gap }}or{{ gap }}replace{{ gap }}table)\\b
{%- endmacro %}


{#- The tables that a DDL changes, and the columns that it leaves. One that is renamed has a record under either name,
    that of the old one without columns. So has one that is gone when the connector lists tables. -#}
{% macro _debezium_binlog_changes() -%}
{%- set columns = 'struct<name: string, typeExpression: string, length: int, scale: int>' -%}
{%- set names = "regexp_extract_all(change.id, '\"([^\"]*)\"', 1)" -%}
concat(flatten(transform(from_json(
        if(kind = 'ddl', coalesce(tableChanges, '[]'), null),
        'array<struct<type: string, id: string, previousId: string, `table`: struct<columns: array<{{ columns }}>>>>'
    ), change -> transform(array_distinct(array_compact(array(
        regexp_extract_all(change.previousId, '"([^"]*)"', 1), {{ names }}, {{ dbt_cdc._debezium_altered_name(names) }}
    ))), names -> named_struct(
        'names', names,
        'columns', if(change.type = 'DROP' or names <> {{ names }}, null, to_json(
            transform(change.table.columns, column -> named_struct(
                'name', column.name,
                'type', lower(concat(column.typeExpression, if(
                    column.length is null, '', concat('(', concat_ws(',', column.length, column.scale), ')')
                )))
            ))
        ))
    )))), if(coalesce(tableChanges, '[]') = '[]', array(named_struct(
        'names', {{ dbt_cdc._debezium_names_of(dbt_cdc._debezium_untold_name(), "array(source.db, '')") }},
        'columns', cast(null as string)
    )), array()))
{%- endmacro %}


{#- The table that a statement takes away and its event does not list: one that a later clause of a RENAME takes on, and
    with Debezium before 2.4 each that is dropped. From which database one moves is not told. -#}
{% macro _debezium_untold_name() -%}
{%- set gap = dbt_cdc._debezium_gap() -%}
if(
                coalesce(tableChanges, '[]') <> '[]' or ddl rlike '(?is)^{{ dbt_cdc._debezium_moving_ddl() }}', null,
                regexp_extract(
                    ddl, '(?is)^{{ gap }}*+(?:rename|drop){{ gap }}++tables?{{ gap }}++(?:if{{ gap }}++exists
                    {#- #}{{ gap }}++)?({{ dbt_cdc._debezium_table_name() }})', 1
                )
            )
{%- endmacro %}


{#- A table's name in a statement, with its database or without, and what comes before the one that it renames. -#}
{% macro _debezium_name_part() -%}
(?:`[^`]+`|"[^"]+"|[^\\s.,;/`"(]+)
{%- endmacro %}


{% macro _debezium_table_name() -%}
{{ dbt_cdc._debezium_name_part() }}(?:[.]{{ dbt_cdc._debezium_name_part() }})?
{%- endmacro %}


{#- Database and table of a name in a statement; `names` has the database of one without. -#}
{% macro _debezium_names_of(text, names) -%}
element_at(transform(array(regexp_extract_all(
            {{ text }},
            '{{ dbt_cdc._debezium_name_part() }}', 0
        )), given -> concat(
            slice({{ names }}, 1, 2 - size(given)), transform(given, part -> trim(both '`"' from part))
        )), 1)
{%- endmacro %}


{% macro _debezium_renaming_ddl() -%}
{%- set gap = dbt_cdc._debezium_gap() -%}
{{ gap }}*+(?:alter{{ gap }}++(?:(?:online|ignore){{ gap }}++)*table|rename{{ gap }}++tables?){{ gap }}++
{#- #}(?:if{{ gap }}++exists{{ gap }}++)?
{%- endmacro %}


{#- A rename into a database that is named, of a table whose own is not: which that was the event does not tell. -#}
{% macro _debezium_moving_ddl() -%}
{%- set gap, part = dbt_cdc._debezium_gap(), dbt_cdc._debezium_name_part() -%}
{{ dbt_cdc._debezium_renaming_ddl() }}{{ part }}{{ gap }}++(?:to{{ gap }}++|.*?\\brename{{ gap }}++
{#- #}(?:(?:to|as){{ gap }}++|={{ gap }}*)?){{ part }}[.]{{ part }}
{%- endmacro %}


{#- The name of the table that an ALTER or RENAME TABLE renames, which the event does not tell: it has the new one,
    `names`. A RENAME has an event for each clause. -#}
{% macro _debezium_altered_name(names) -%}
if(change.type = 'ALTER' and ddl rlike '(?is)\\brename\\b(?!{{ dbt_cdc._debezium_gap() }}++(?:column|index|key)\\b)',
            {#- #} {{ dbt_cdc._debezium_names_of(
            "regexp_extract(ddl, '(?is)^" ~ dbt_cdc._debezium_renaming_ddl() ~ '(' ~ dbt_cdc._debezium_table_name()
            ~ ")', 1)", names
        ) }}, null)
{%- endmacro %}


{#- The columns of `events` behind record_time, which are as they landed. -#}
{% macro _debezium_binlog_rest(batch) -%}
    {%- for name in dbt_cdc._debezium_event_columns(batch)[7:] %}
        {{- 'null as ' if name == 'ended_at' }}{{ name }}{{ ',\n        ' if not loop.last }}
    {%- endfor %}
{%- endmacro %}


{#- CTE `events` out of `landed_events`: changes are numbered in the order of their places, each END is put right behind
    the last of them, and a transaction without metadata gets one, once a later one has landed. A place tells one row,
    but for a key change, which is a delete and a create, and for transactions that MySQL has compressed: those are told
    apart by the connector's numbers. -#}
{% macro _debezium_binlog_events(batch) -%}
changes_in_binlog as (
    -- of a DDL a row for each table: `before` is the statement, `after` the columns that it leaves
    select
        * except (position, source_schema, source_name, before, after, ddl, table_changes, change_number, change),
        if(change_number > 0, null, position) as position,
        if(kind = 'ddl', element_at(change.names, -2), source_schema) as source_schema,
        if(kind = 'ddl', element_at(change.names, -1), source_name) as source_name,
        if(kind = 'ddl', ddl, before) as before,
        if(kind = 'ddl', change.columns, after) as after,
        xxhash64(content, change_number) as place,
        xxhash64(kind, source_schema, source_name, before, after) as row_text
    from landed_events
    lateral view outer posexplode(table_changes) as change_number, change
    where kind in ('c', 'u', 'd', 't', 'ddl')
),

numbered as (
    select
        *,
        -- a row event of the binary log has rows of one table and one kind; a compressed transaction is one event
        (is_renumbered or total_order is null) and coalesce(
            min(row_kind) over same_event <> max(row_kind) over same_event
            or min(source_table) over same_event <> max(source_table) over same_event, false
        )
        or min(content) over same_number <> max(content) over same_number as is_unclear,
        coalesce(total_order, 1) = 1 or max(number) over (
            partition by xid, number - total_order order by number range between 1 preceding and 1 preceding
        ) is not null as follows_on,
        number = max(number) over (partition by xid) as is_last
    from (
        select
            *,
            case
                when
                    kind = 'c' and max(if(kind = 'd', row_key, null)) over same_row <> row_key
                    or kind = 'd' and max(if(kind = 'c', row_key, null)) over same_row <> row_key
                    then 'u'
                when kind in ('c', 'u', 'd') then kind
            end as row_kind,
            dense_rank() over (
                partition by xid
                order by
                    wal, if(is_renumbered, 0, total_order), event_row,
                    kind = 'c' or kind = 'ddl' and after is not null, source_schema, source_name
            ) as number
        from (
            select
                *,
                if(kind in ('c', 'u', 'd'), concat(source_schema, '.', source_name), null) as source_table,
                -- without a key the row, which differs where its key changes
                coalesce(nullif(key, 'null'), before, after) as row_key,
                -- or it has sent some without numbers, and again with them
                coalesce(max(has_other_place) over (partition by xid), false)
                or max(total_order is null and kind <> 'ddl') over (partition by xid)
                and max(total_order is not null) over (partition by xid) as is_renumbered,
                -- a failover sends all of them again, a restart goes on behind the last one
                coalesce(min(if(has_other_place, has_same_row, null)) over (partition by xid), false)
                and coalesce(min(if(wal < last_start, has_other_place, null)) over (partition by xid), true) as is_moved
            from (
                select
                    *,
                    -- a connector that restarted inside the transaction numbers its events from 1 again
                    total_order is not null
                    and min(place) over same_order <> max(place) over same_order as has_other_place,
                    min(row_text) over same_order = max(row_text) over same_order as has_same_row,
                    max(if(total_order = 1, wal, null)) over (partition by xid) as last_start
                from changes_in_binlog
                window same_order as (partition by xid, total_order)
            )
        )
        window same_row as (partition by xid, wal, event_row)
    )
    window
        same_event as (partition by xid, wal),
        same_number as (partition by xid, number)
),

spans as (
    select
        xid,
        case
            -- one transaction follows the other, and none is in two files
            when
                (first_wal div {{ 2 ** 32 }} <> last_wal div {{ 2 ** 32 }} or next_wal <= last_wal or is_moved)
                and not {{ dbt_cdc._is_given_up('xid') }}
                then {{ dbt_cdc._raise_bad_record(
                    "concat('transaction ', xid)",
                    "'its events are among those of others, in two files of the binary log, or at two places of one: '"
                    ~ " || 'the connector has gone to another server (a failover), and has sent it again'",
                    'give the events of the new server a log and a schema of their own; nothing of this batch is in '
                    ~ 'the log; to go on without it, give ' ~ dbt_cdc._give_up(['...']) ~ ' and its name'
                ) | indent(16) }}
            else first_wal
        end as first_wal,
        last_wal,
        first_time,
        last_position,
        events,
        ddl_events,
        has_end,
        has_no_hole,
        last_order,
        max(first_wal) over () > last_wal as is_before_another
    from (
        select
            xid,
            min(wal) as first_wal,
            max(wal) as last_wal,
            lead(min(wal)) over (order by min(wal)) as next_wal,
            min(record_time) as first_time,
            max(position) as last_position,
            max(number) as events,
            count(distinct if(kind = 'ddl', number, null)) as ddl_events,
            bool_or(has_metadata and kind in ('c', 'u', 'd')) as has_end,
            max(is_moved) as is_moved,
            -- a connector that restarted counts from 1 again, and its END those since then: each event follows another
            count(distinct if(follows_on, number, null)) = max(number) as has_no_hole,
            min(if(is_last, total_order, null)) as last_order
        from numbered
        group by xid
    )
),
{%- if batch.has_old_events %}

known as (
    select
        tran_id as known_xid,
        max({{ dbt_cdc._debezium_commit_number() }}) as known_commit
    from {{ batch.log }}
    where
        operation = 'COMMIT'
        and tran_id in (
            select xid from landed_events
            where kind in ('c', 'u', 'd', 't', 'ddl') or kind = 'END' and event_count > 0
        )
    group by tran_id
),
{%- endif %}

events as (
    select
        position,
        kind,
        if(kind = 'm', '', xid) as xid,
        wal,
        slot,
        event_count,
        record_time,
        {{ dbt_cdc._debezium_binlog_rest(batch) }}
    from landed_events
    where kind not in ('c', 'u', 'd', 't', 'ddl', 'BEGIN', 'END')
    union all
    select
        position,
        kind,
        xid,
        wal,
        case
            -- of a transaction that waits for more, half of a changed key may have landed
            when
                is_unclear and (has_end or is_before_another) and not {{ dbt_cdc._is_given_up('xid') }}
                then {{ dbt_cdc._raise_bad_record(
                    "concat('transaction ', xid, ', event at position ', position)",
                    "concat('other events have its place, ', wal % " ~ 2 ** 32 ~ ", ' row ', event_row)",
                    'such a transaction is compressed (binlog_transaction_compression), and the order of its events '
                    ~ 'cannot be told where they have no numbers, or a connector that restarted has numbered them '
                    ~ 'anew: set provide.transaction.metadata=true, or turn the compression off; nothing of this '
                    ~ 'batch is in the log; where it is past, give the transaction up by '
                    ~ dbt_cdc._give_up(['...']) ~ ' and its name'
                ) | indent(16) }}
            else number
        end as slot,
        event_count,
        record_time,
        {{ dbt_cdc._debezium_binlog_rest(batch) }}
    from numbered
    inner join spans using (xid)
    union all
    -- a BEGIN or END without changes is that of a DDL, or of tables that are not read
    select
        position,
        case
            when has_end or kind = 'END' and events > 0{{ ' or known_commit > 0' if batch.has_old_events }} then kind
            when kind = 'END' and event_count > 0 then 'BEGIN'
            else 'm'
        end as marked_kind,
        if(marked_kind = 'm', '', landed_events.xid) as xid,
        coalesce(
            if(kind = 'BEGIN', first_wal, {{ 'coalesce(known_commit, last_wal + 1)' if batch.has_old_events
                else 'last_wal + 1' }}),
            {{- ' known_commit - 1,' if batch.has_old_events }} 0
        ) as wal,
        if(marked_kind = 'END', {{ dbt_cdc._debezium_last_slot() }}, 0) as slot,
        case
            when not has_end or kind = 'BEGIN' or event_count = 0 or ddl_events > 0 or has_no_hole and bool_or(
                kind = 'END' and event_count = last_order
            ) over (partition by landed_events.xid)
                then greatest(event_count + coalesce(ddl_events, 0), events)
            else greatest(event_count, events + 1)
        end as event_count,
        if(kind = 'BEGIN', first_time, record_time) as record_time,
        {{ dbt_cdc._debezium_binlog_rest(batch) }}
    from landed_events
    left join spans on landed_events.xid = spans.xid
    {{- '\n    left join known on landed_events.xid = known_xid' if batch.has_old_events }}
    where kind in ('BEGIN', 'END')
    union all
    -- a BEGIN that was passed over before its changes landed
    select
        {{ dbt_cdc._debezium_event(batch, {
            'kind': "'BEGIN'", 'xid': 'xid', 'wal': 'first_wal', 'slot': '0', 'record_time': 'first_time',
            'ended_at': 'last_position',
        }) }}
    from spans
    where has_end
    union all
    select
        {{ dbt_cdc._debezium_event(batch, {
            'kind': "'END'", 'xid': 'xid', 'wal': 'last_wal + 1', 'slot': dbt_cdc._debezium_last_slot(),
            'event_count': 'events', 'ended_at': 'last_position',
        }) }}
    from spans
    {{- '\n    left anti join known on xid = known_xid' if batch.has_old_events }}
    where not has_end and is_before_another
)
{%- endmacro %}
