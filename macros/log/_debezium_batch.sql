{#- What this run reads: the events after `position` up to `last_position` (none: all).
    `last_commit` is the commit number of the last transaction in the log (0: none yet, or nothing new to come after),
    `first_change` the lowest WAL position of the new events, `has_old_events` whether some of them may be of
    transactions that are in the log, `has_snapshot_rows` whether rows of a snapshot are among them, `has_later_rows`
    whether there are rows of several snapshots, `snapshot_wal` the position of the one that the log begins with (-1:
    none), `database` the connector and the database that the log is of. -#}
{% macro _debezium_batch(events, log, is_incremental, connector) %}
    {% set batch = {
        'log': log, 'is_incremental': is_incremental, 'position': none, 'last_position': none, 'last_commit': 0,
        'first_change': none, 'has_old_events': false, 'has_snapshot_rows': false, 'has_later_rows': false,
        'snapshot_wal': none, 'database': none, 'landed_below': 0, 'copies_below': 0, 'last_place': 0,
        'connector': connector, 'has_untold': connector in ['mysql', 'mariadb'],
    } %}
    {% set position = dbt_cdc._fetch(
        'select max(resume_position) as position from ' ~ log
    )[0].position if is_incremental else none %}
    {% if position is not none %}
        {% do batch.update(position=position, last_position=position) %}
        {% set news = dbt_cdc._fetch(dbt_cdc._debezium_news(events, batch))[0] %}
        {% do dbt_cdc._check_positions_go_on(events, log, news.end_position, news.read_position) %}
        {% do dbt_cdc._debezium_check_positions(events, log, news) if news.landed_since > 0 %}
        {% if news.last_position is not none %}
            {% do batch.update(news, last_commit=news.last_lsn[2:16] | int(base=16)) %}
            {% do dbt_cdc._debezium_find_sent_again(events, batch) if dbt_cdc._debezium_reads_binlog(batch) %}
            {% do batch.update(has_old_events=dbt_cdc._debezium_has_old_events(batch)) %}
            {% do dbt_cdc._debezium_find_snapshot(batch)
                if batch.has_snapshot_rows and not dbt_cdc._debezium_reads_sqlserver(batch) %}
            {% do dbt_cdc._debezium_find_place(batch)
                if batch.has_untold and not dbt_cdc._debezium_reads_binlog(batch) %}
        {% endif %}
    {% elif execute and dbt_cdc._is_building() %}
        {% set first = dbt_cdc._fetch(dbt_cdc._debezium_first_database(events, batch)) %}
        {% do batch.update(first[0] if first else {}) %}
        {% do batch.update(dbt_cdc._fetch(dbt_cdc._debezium_has_snapshots(events, batch))[0])
            if not dbt_cdc._debezium_reads_sqlserver(batch) %}
    {% endif %}
    {#- the statement that does all of it has more steps than Spark's analyzer takes by default, 100 -#}
    {% do run_query('set spark.sql.analyzer.maxIterations = 500') if batch.has_untold and batch.has_later_rows %}
    {% do return(batch) %}
{% endmacro %}


{#- `old_ends`: the ENDs at or below the log's end; `old_xids`: the transactions of the other events below it. -#}
{% macro _debezium_news(events, batch) -%}
{%- set is_binlog = dbt_cdc._debezium_reads_binlog(batch) -%}
{%- set is_sqlserver = dbt_cdc._debezium_reads_sqlserver(batch) -%}
with log_end as (
    select
        max(lsn) as last_lsn,
        max(source_database) as database,
        max(cast(get_json_object(balance, '$.read_position') as bigint)) as read_position,
        max(cast(get_json_object(balance, '$.landed_below') as bigint)) as landed_below,
        max(cast(get_json_object(balance, '$.copies_below') as bigint)) as copies_below
    from {{ batch.log }}
    where resume_position = {{ batch.position }}
),

passed as (
    select
        max(log_end.read_position) as read_position,
        count_if(events.position <= log_end.read_position) - max(log_end.landed_below) as landed_since,
        count_if(events.position <= {{ batch.position }}) as landed_below,
        max(log_end.copies_below) as copies_below,
        max(events.position) as end_position
    from {{ events }} as events
    cross join log_end
),

landed as (
    select
        position,
        from_json(value, '{{ dbt_cdc._debezium_news_envelope(batch) }}') as event
    from {{ events }}
    where position > {{ batch.position }}
),

news as (
    select
        position,
        {%- for name in ['op', 'status', 'id'] %}
        coalesce(event.{{ name }}, event.payload.{{ name }}) as {{ name }},
        {%- endfor %}
        coalesce(event.source, event.payload.source) as source,
        coalesce(event.transaction.id, event.payload.transaction.id, event.id, event.payload.id) as transaction_id,
        {%- if is_binlog %}
        coalesce(event.event_count, event.payload.event_count) as event_count,
        coalesce(event.ddl, event.payload.ddl) as ddl,
        {%- endif %}
        last_lsn,
        database,
        {{ dbt_cdc._debezium_commit_number('last_lsn') }} as last_commit
    from landed
    cross join log_end
),

placed as (
    select
        *,
        {%- if is_binlog %}
        {{ dbt_cdc._debezium_binlog_place() }} as wal,
        {{ dbt_cdc._debezium_binlog_xid("op = 't' or ddl is not null", 'transaction_id') }} as xid,
        op in ('c', 'u', 'd', 't') or ddl is not null as is_change,
        if(op in ('c', 'u', 'd', 't'), timestamp_millis(cast(source.ts_ms as bigint)), null) as sent_for
        {%- elif is_sqlserver %}
        {{ dbt_cdc._debezium_wal(batch, 'id') }} as wal
        {%- else %}
        try_cast(coalesce(source.lsn, split_part(id, ':', 2)) as bigint) as wal,
        split_part(coalesce(transaction_id, source.txId), ':', 1) as xid,
        op in ('c', 'u', 'd', 't') and transaction_id is null as is_untold,
        cast(get_json_object(source.sequence, '$[0]') as bigint) as previous_end
        {%- endif %}
    from news
)

select
    max(position) as last_position,
    max(last_lsn) as last_lsn,
    coalesce(max(database), min({{ dbt_cdc._debezium_database(batch) }})) as database,
    {{ '0L' if is_binlog else 'min(wal)' }} as first_change,
    bool_or(op = 'r') as has_snapshot_rows,
    max(case when op = 'r' then wal end) as last_snapshot_wal,
    {%- if is_binlog %}
    cast(min(sent_for) as string) as first_time,
    to_json(collect_set(case when is_change and wal <= last_commit then xid end)) as old_ends,
    -- an END that comes again alone
    to_json(array_union(
        array_except(
            collect_set(case when status = 'END' and event_count <> '0' then xid end),
            collect_set(case when is_change and wal > last_commit then xid end)
        ),
        collect_set(case when is_change and wal <= last_commit then xid end)
    )) as old_xids,
    {%- elif is_sqlserver %}
    to_json(collect_set(if((op in ('c', 'u', 'd') or status = 'END') and wal <= last_lsn, wal, null))) as old_ends,
    '[]' as old_xids,
    {%- else %}
    coalesce(bool_or(is_untold), false) as has_untold,
    to_json(collect_set(case
        when status = 'END' and wal <= last_commit or is_untold and coalesce(previous_end, wal - 1) < last_commit
            then xid
    end)) as old_ends,
    to_json(collect_set(case when not status <=> 'END' and wal <= last_commit then xid end)) as old_xids,
    {%- endif %}
    (select landed_below from passed) as landed_below,
    coalesce((select copies_below from passed), 0) as copies_below,
    coalesce((select landed_since from passed), 0) as landed_since,
    (select read_position from passed) as read_position,
    (select end_position from passed) as end_position
from placed
{%- endmacro %}


{#- A connector that goes on at another server sends transactions again that the log has, with their names, at other
    places, which may be above the log's end. Only those of the times of this batch are looked for. -#}
{% macro _debezium_find_sent_again(events, batch) %}
    {% set known = [] if batch.first_time is none else dbt_cdc._fetch(
        "select distinct tran_id from " ~ batch.log ~ " where operation = 'COMMIT' and record_time >= timestamp '"
        ~ batch.first_time ~ "' and tran_id <> 'snapshot'") | map(attribute='tran_id') | list %}
    {% set found = [] if not known else dbt_cdc._fetch(
        'select to_json(collect_set(xid)) as xids from (select coalesce('
        ~ "get_json_object(value, '$.source.gtid'), get_json_object(value, '$.payload.source.gtid')) as xid from "
        ~ events ~ ' where position > ' ~ batch.position ~ ' and position <= ' ~ batch.last_position
        ~ ') where xid in (' ~ dbt_cdc._literals(known) ~ ')') %}
    {% do batch.update(old_xids=tojson((fromjson(batch.old_xids) + fromjson(found[0].xids)) | unique | list))
        if found %}
{% endmacro %}


{#- Events that landed at positions that the log had read beyond are never read, unless they are there twice: positions
    began anew, as those of a topic that was made again, or an event landed late. -#}
{% macro _debezium_check_positions(events, log, news) %}
    {% set found = dbt_cdc._fetch(
        'select count(distinct position, content) - count(distinct position, topic) as others, '
        ~ 'count(*) - count(distinct position, content) as copies '
        ~ 'from (select position, topic, xxhash64(topic, key, value) as content from ' ~ events
        ~ ' where position <= ' ~ news.read_position ~ ')')[0] %}
    {% if found.others or found.copies - news.copies_below < news.landed_since %}
        {% do dbt_cdc.raise_cdc_error(
            22859, news.landed_since ~ ' events landed at or below position ' ~ news.read_position ~ ' of ' ~ events
            ~ ', up to which the log had read them',
            dbt_cdc._positions_advice(
                log, ' (of a topic that was made again, its offsets and the last position before)')
        ) %}
    {% endif %}
    {% do news.update(copies_below=found.copies) %}
{% endmacro %}


{% macro _debezium_news_envelope(batch) -%}
    {%- set fields = 'id: string, op: string, status: string, transaction: struct<id: string>, '
        ~ 'source: struct<name: string, db: string, lsn: string, txId: string, sequence: string'
        ~ (', file: string, pos: string, gtid: string, ts_ms: string>, event_count: string, ddl: string'
            if dbt_cdc._debezium_reads_binlog(batch) else ', commit_lsn: string>') -%}
struct<{{ fields }}, payload: struct<{{ fields }}>>
{%- endmacro %}


{#- The connector and the database of an event, as one text; of a binary log, its name. -#}
{% macro _debezium_database(batch) -%}
{%- if dbt_cdc._debezium_reads_binlog(batch) -%}
nullif(concat_ws(' of ', regexp_extract(source.file, '^(.*)[.]', 1), source.name), '')
{%- else -%}
nullif(concat_ws('.', source.name, source.db), '')
{%- endif -%}
{%- endmacro %}


{#- The database of one of the events, where a log begins. -#}
{% macro _debezium_first_database(events, batch) -%}
with landed as (
    select from_json(value, '{{ dbt_cdc._debezium_news_envelope(batch) }}') as event
    from {{ events }}
    where contains(value, '"source"')
),

sources as (
    select coalesce(event.source, event.payload.source) as source
    from landed
)

select {{ dbt_cdc._debezium_database(batch) }} as database
from sources
where {{ dbt_cdc._debezium_database(batch) }} is not null
limit 1
{%- endmacro %}


{#- Whether events hold rows of a snapshot after the first, where nothing else is known of them: of several snapshots,
    or behind a commit; and whether changes tell no number in their transaction. -#}
{% macro _debezium_has_snapshots(events, batch) -%}
{%- set is_binlog = dbt_cdc._debezium_reads_binlog(batch) -%}
select
    {{ 'coalesce(bool_or(is_untold), false) as has_untold,' if not is_binlog }}
    coalesce(min(snapshot_wal) < max(snapshot_wal) or min(commit_wal) <= max(snapshot_wal), false) as has_later_rows
from (
    select
        is_untold,
        case when value rlike '"op"\\s*:\\s*"r"' then wal end as snapshot_wal,
        case
            {%- if is_binlog %}
            when value rlike '"op"\\s*:\\s*"[cudt]"' then wal
            {%- else %}
            when value rlike '"status"\\s*:\\s*"END"' then try_cast(split_part(coalesce(
                get_json_object(value, '$.id'), get_json_object(value, '$.payload.id')
            ), ':', 2) as bigint)
            when is_untold then wal
            {%- endif %}
        end as commit_wal
    from (
        select
            value,
            value rlike '"op"\\s*:\\s*"[cudt]"' and not value rlike '"transaction"\\s*:\\s*[{]' as is_untold,
            {{ dbt_cdc._debezium_wal(batch) }} as wal
        from (
            select
                value,
                from_json(coalesce(
                    get_json_object(value, '$.source'), get_json_object(value, '$.payload.source')
                ), 'lsn string, file string, pos string') as source
            from {{ events }}
        )
    )
)
{%- endmacro %}


{#- Where the log's own snapshot is; a log of an older version tells only the first commit behind it. -#}
{% macro _debezium_find_snapshot(batch) %}
    {% set lsn = dbt_cdc._debezium_lsn(dbt_cdc._debezium_snapshot_commit()) %}
    {% set found = dbt_cdc._fetch(
        "select max(case when operation = 'INSERT' and lsn < '" ~ lsn ~ "' then source_lsn end) as snapshot_wal, "
        ~ "min(case when operation = 'COMMIT' and lsn > '" ~ lsn ~ "' then lsn end) as first_lsn, "
        ~ "count_if(lsn = '" ~ lsn ~ "') as has_snapshot from " ~ batch.log
    )[0] %}
    {% set wal = -1 if not found.has_snapshot else found.snapshot_wal if found.snapshot_wal is not none
        else (found.first_lsn[2:16] | int(base=16)) - 1 if found.first_lsn else batch.last_snapshot_wal %}
    {% do batch.update(snapshot_wal=wal, has_later_rows=batch.last_snapshot_wal > wal) %}
{% endmacro %}


{#- The last commit that is no snapshot's: behind it no transaction may begin anew that tells it as the one before. -#}
{% macro _debezium_find_place(batch) %}
    {% do batch.update(last_place=dbt_cdc._fetch(
        'select coalesce(max(' ~ dbt_cdc._debezium_commit_number() ~ '), 0) as place from ' ~ batch.log
        ~ " where operation = 'COMMIT' and tran_id <> 'snapshot'")[0].place) %}
{% endmacro %}


{#- Whether transactions of new events are in the log, or should have been. -#}
{% macro _debezium_has_old_events(batch) %}
    {% set xids = fromjson(batch.old_xids) %}
    {% do return(fromjson(batch.old_ends) != [] or (xids != [] and dbt_cdc._fetch(
        'select 1 from ' ~ batch.log ~ " where operation = 'COMMIT' and lsn > '"
        ~ dbt_cdc._debezium_lsn(batch.first_change) ~ "' and tran_id in (" ~ dbt_cdc._literals(xids) ~ ') limit 1'
    ) != [])) %}
{% endmacro %}
