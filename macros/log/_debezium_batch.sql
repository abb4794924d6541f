{#- What this run reads: the events after `position` up to `last_position` (none: all).
    `last_commit` is the commit number of the last transaction in the log (0: none yet, or nothing new to come after),
    `first_change` the lowest WAL position of the new events, `has_old_events` whether some of them may be of
    transactions that are in the log, `has_snapshot_rows` whether rows of a snapshot are among them, `has_later_rows`
    whether there are rows of several snapshots, `snapshot_wal` the position of the one that the log begins with (-1:
    none), `database` the connector and the database that the log is of, `cut_lsn` where a log begins whose first
    records were removed. -#}
{% macro _debezium_batch(events, log, is_incremental, connector) %}
    {% do dbt_cdc._check_session_settings() if execute and dbt_cdc._is_building() %}
    {% set batch = dbt_cdc._debezium_connector(connector) %}
    {% do batch.update({
        'events': events, 'log': log, 'is_incremental': is_incremental,
        'position': none, 'last_position': none, 'last_commit': 0,
        'first_change': none, 'has_old_events': false, 'has_snapshot_rows': false, 'has_later_rows': false,
        'snapshot_wal': none, 'database': none, 'landed_below': 0, 'copies_below': 0, 'last_place': 0,
        'low_position': none, 'has_untold': batch.is_binlog, 'cut_lsn': none,
    }) %}
    {% set position = dbt_cdc._fetch(
        'select max(resume_position) as position from ' ~ log
    )[0].position if is_incremental else none %}
    {% if position is not none %}
        {% do batch.update(position=position, last_position=position) %}
        {% set news = dbt_cdc._fetch(dbt_cdc._debezium_news(events, batch))[0] %}
        {% do dbt_cdc._check_positions_go_on(events, log, news.end_position, news.read_position) %}
        {% do dbt_cdc._debezium_check_positions(events, log, news) if news.landed_since > 0 or news.has_removed
            or news.below_kept %}
        {% if news.last_position is not none %}
            {% do batch.update(news, last_commit=news.last_lsn[2:16] | int(base=16)) %}
            {% do dbt_cdc._debezium_find_sent_again(events, batch) if batch.is_binlog %}
            {% do batch.update(has_old_events=dbt_cdc._debezium_has_old_events(batch)) %}
            {% do dbt_cdc._debezium_find_snapshot(batch) if batch.has_snapshot_rows and not batch.is_sqlserver %}
            {% do dbt_cdc._debezium_find_place(batch) if batch.has_untold and not batch.is_binlog %}
        {% endif %}
    {% elif execute and dbt_cdc._is_building() %}
        {% set first = dbt_cdc._fetch(dbt_cdc._debezium_first_database(events, batch)) %}
        {% do batch.update(first[0] if first else {}) %}
        {% do batch.update(dbt_cdc._fetch(dbt_cdc._debezium_has_snapshots(events, batch))[0])
            if not batch.is_sqlserver %}
    {% endif %}
    {#- the longer statements have more steps than Spark's analyzer takes by default, 100; a warehouse of Databricks
        lets nobody set it -#}
    {% do dbt_cdc._send_setting('set spark.sql.analyzer.maxIterations = 500')
        if execute and target.type != 'databricks' and (batch.has_untold or batch.has_later_rows) %}
    {% do return(batch) %}
{% endmacro %}


{#- Events that landed at positions that the log had read beyond are never read, unless they are there twice: positions
    began anew, as those of a topic that was made again, or an event landed late. Where the lowest ones were removed,
    those of the batches that are still there whole are counted. -#}
{% macro _debezium_check_positions(events, log, news) %}
    {% set found = dbt_cdc._late_beside_removed(events, log, news, "position, coalesce(topic, '')") if news.has_removed
        else dbt_cdc._fetch(
            "select count(distinct position, content) - count(distinct position, coalesce(topic, '')) as others, "
            ~ 'count(*) - count(distinct position, content) as copies '
            ~ 'from (select position, topic, xxhash64(topic, key, value) as content from ' ~ events
            ~ ' where position <= ' ~ news.read_position ~ ')')[0] %}
    {#- what lies below the lowest one that there was is late for certain -#}
    {% set late = found.late if news.has_removed else news.below_kept or news.landed_since %}
    {% if late > 0 and (news.has_removed or news.below_kept
        or found.others or found.copies - news.copies_below < late) %}
        {% do dbt_cdc.raise_cdc_error(
            22859, late ~ ' events landed at or below position ' ~ news.read_position ~ ' of ' ~ events
            ~ ', up to which the log had read them',
            dbt_cdc._positions_advice(
                log, ' (of a topic that was made again, its offsets and the last position before)')
        ) %}
    {% endif %}
    {% do news.update(copies_below=found.copies) %}
{% endmacro %}


{#- Where the log's own snapshot is; a log of an older version tells only the first commit behind it. And whether the
    log was cut. -#}
{% macro _debezium_find_snapshot(batch) %}
    {% set lsn = dbt_cdc._debezium_snapshot_lsn() %}
    {% set found = dbt_cdc._fetch(
        "select max(case when operation = 'INSERT' and lsn < '" ~ lsn ~ "' then source_lsn end) as snapshot_wal, "
        ~ "min(case when operation = 'COMMIT' and lsn > '" ~ lsn ~ "' then lsn end) as first_lsn, "
        ~ dbt_cdc._debezium_cut_lsn_sql() ~ ", count_if(lsn = '" ~ lsn ~ "') as has_snapshot from " ~ batch.log
    )[0] %}
    {% set wal = -1 if not found.has_snapshot else found.snapshot_wal if found.snapshot_wal is not none
        else (found.first_lsn[2:16] | int(base=16)) - 1 if found.first_lsn else batch.last_snapshot_wal %}
    {% do batch.update(snapshot_wal=wal, has_later_rows=batch.last_snapshot_wal > wal, cut_lsn=found.cut_lsn) %}
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
    {% do return(batch.has_old_ends or (xids != [] and dbt_cdc._fetch(
        'select 1 from ' ~ batch.log ~ " where operation = 'COMMIT' and lsn > '"
        ~ dbt_cdc._debezium_lsn(batch.first_change) ~ "' and tran_id in (" ~ dbt_cdc._literals(xids) ~ ') limit 1'
    ) != [])) %}
{% endmacro %}


{#- Whether events hold rows of a snapshot after the first, where nothing else is known of them: of several snapshots,
    or behind a commit; and whether changes tell no number in their transaction. -#}
{% macro _debezium_has_snapshots(events, batch) -%}
with landed as (
    select from_json(value, '{{ dbt_cdc._debezium_news_envelope(batch) }}') as event
    from {{ events }}
),

told as (
    select
        coalesce(event.op, event.payload.op) as op,
        coalesce(event.source, event.payload.source) as source,
        {%- if not batch.is_binlog %}
        coalesce(event.status, event.payload.status) as status,
        coalesce(event.id, event.payload.id) as id,
        {%- endif %}
        coalesce(event.transaction, event.payload.transaction) is null as is_alone
    from landed
),

placed as (
    select
        op,
        {%- if not batch.is_binlog %}
        is_alone and op in ('c', 'u', 'd', 't') as is_untold,
        case when status = 'END' then try_cast(split_part(id, ':', 2) as bigint) end as end_wal,
        {%- endif %}
        {{ dbt_cdc._debezium_wal(batch) }} as wal
    from told
)

select
    {{ 'coalesce(bool_or(is_untold), false) as has_untold,' if not batch.is_binlog }}
    coalesce(min(snapshot_wal) < max(snapshot_wal) or min(commit_wal) <= max(snapshot_wal), false) as has_later_rows
from (
    select
        {{ 'is_untold,' if not batch.is_binlog }}
        case when op = 'r' then wal end as snapshot_wal,
        {{ "case when op in ('c', 'u', 'd', 't') then wal end" if batch.is_binlog
            else 'coalesce(end_wal, if(is_untold, wal, null))' }} as commit_wal
    from placed
)
{%- endmacro %}
