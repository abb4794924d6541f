{#- Whether the log begins with a snapshot that holds what was streamed as well. Its LSN is that of SQL Server's capture
    job, seconds behind the tables that the connector reads (https://github.com/apache/flink-cdc/issues/2853). -#}
{% macro _debezium_sqlserver_check_beginning(events, batch, before_images) %}
    {% set found = dbt_cdc._fetch(dbt_cdc._debezium_sqlserver_seen(events, batch, before_images))[0] %}
    {% set seen = fromjson(found.transactions or '[]') %}
    {% do dbt_cdc.raise_cdc_error(
        22859, 'the snapshot that the log begins with holds transactions that were streamed, too: '
        ~ seen[:20] | join(', ') ~ (' and ' ~ (seen | length - 20) ~ ' more' if seen | length > 20)
        ~ ('; it has ' ~ found.table_name ~ ', key ' ~ found.key ~ ', as of ' ~ found.last_lsn
            if found.last_lsn else ', as their LSNs are at or below its own')
        ~ ('; those up to ' ~ batch.last_lsn ~ ' are captured'
            if batch.get('last_lsn', dbt_cdc._debezium_snapshot_lsn()) != dbt_cdc._debezium_snapshot_lsn()),
        'nothing of this batch is in the log; if the snapshot was read with snapshot.isolation.mode=snapshot, it holds '
        ~ 'them whole: go on without them, ' ~ dbt_cdc._give_up(seen[:200]) ~ '; else take a new snapshot in this '
        ~ 'mode, and begin the log with it'
    ) if seen %}
{% endmacro %}


{#- Whether the log is in the first hour behind its snapshot: until then the landed events are read from the beginning
    on, as what is streamed late may have been seen, too. -#}
{% macro _debezium_sqlserver_begins(batch) %}
    {% set commit = ' from ' ~ batch.log ~ " where operation = 'COMMIT' and lsn = '" %}
    {% do return(batch.position is none or (batch.get('last_lsn') and dbt_cdc._fetch(
        'select 1' ~ commit ~ dbt_cdc._debezium_snapshot_lsn() ~ "' and record_time > (select max(record_time)" ~ commit
        ~ batch.last_lsn ~ "') - interval '1' hour") != [])) %}
{% endmacro %}


{#- Where the snapshot has seen a commit that changes a key, neither it nor one before it fits the key's row there. The
    snapshot is of one moment, so it has seen all commits up to the last such one. Those of the log are no news; as what
    is given up, they tell what later ones found. -#}
{% macro _debezium_sqlserver_seen(events, batch, before_images) -%}
{%- set from_the_beginning = dict(batch, position=none, goes_on=false) -%}
with {{ dbt_cdc._debezium_events(events, from_the_beginning, before_images) }},

{{ dbt_cdc._debezium_sqlserver_transactions(from_the_beginning) }},

snapshot_rows as (
    select
        concat(source_schema, '.', source_name) as table_name,
        key,
        max(wal) as snapshot_lsn,
        min(record_time) as first_time,
        max(record_time) as last_time,
        max_by(after, position) as snapshot_image
    from events
    where kind = 'r' and xid = 'snapshot' and not {{ dbt_cdc._is_given_up('xid') }}
    group by table_name, key
),

-- what was committed later is no sign: a row may have changed without an event since
streamed as (
    select
        concat(source_schema, '.', source_name) as table_name,
        key,
        kind,
        commit_lsn,
        record_time,
        before,
        after,
        emitted.xid is not null as is_new
    from events
    left join emitted_transactions as emitted using (commit_lsn)
    where
        kind in ('c', 'u', 'd')
        and record_time <= (select max(last_time) + interval '1' hour from snapshot_rows)
),

-- a message key of several rows tells no row: two of one snapshot have it, or two inserted ones without a delete
shared_keys as (
    select table_name from (
        select concat(source_schema, '.', source_name) as table_name, key, wal, after, null as commit_lsn, kind
        from events
        where kind = 'r' and xid = 'snapshot'
        union all
        select table_name, key, null, after, commit_lsn, kind from streamed
    )
    where coalesce(key, 'null') <> 'null'
    group by table_name, key
    having
        count(distinct wal, after) > count(distinct wal)
        or count(distinct if(kind = 'c', struct(commit_lsn, after), null)) > 1 + count_if(kind = 'd')
),

-- a change fits where the row before it is that of the snapshot, or is not told; an insert fits where it has none. A
-- row that a query for the snapshot leaves out is not there, either: only about its first moment that is a sign
first_changes as (
    select
        table_name,
        key,
        commit_lsn,
        is_new,
        bool_or(bool_or({{ dbt_cdc._debezium_sqlserver_fits() | indent(8) }}))
            over (partition by table_name, key order by commit_lsn) as has_fitted
    from (
        select
            *,
            from_json(after, 'map<string, string>') as after_row,
            from_json(snapshot_image, 'map<string, string>') as snapshot_row
        from streamed
        left join snapshot_rows using (table_name, key)
    )
    left semi join (select table_name from snapshot_rows) using (table_name)
    left anti join shared_keys using (table_name)
    where
        coalesce(key, 'null') <> 'null'
        and (
            snapshot_image is not null
            or record_time <= (select min(first_time) + interval '10' second from snapshot_rows)
        )
    group by table_name, key, commit_lsn, is_new
),

last_seen as (
    select max(struct(commit_lsn, key, table_name)) as seen
    from first_changes
    where is_new and not has_fitted
)

select
    any_value(seen.commit_lsn) as last_lsn,
    any_value(seen.key) as key,
    any_value(seen.table_name) as table_name,
    to_json(array_sort(collect_set(commit_lsn))) as transactions
from streamed
cross join last_seen
where is_new and commit_lsn <= greatest(seen.commit_lsn, (select max(snapshot_lsn) from snapshot_rows))
{%- endmacro %}


{#- Whether the row before a change is that of the snapshot, or not told. SQL Server leaves large values out of it,
    which JSON has as texts, and computed ones out of both images: a NULL tells where an update sets a value. -#}
{% macro _debezium_sqlserver_fits() -%}
if(snapshot_image is null, kind = 'c', kind <> 'c' and (before is null or not coalesce(exists(
    map_entries(from_json(before, 'map<string, string>')),
    entry -> if(
        entry.value is null,
        try_element_at(after_row, entry.key) is not null
        and schema_of_variant(
            try_element_at(from_json(snapshot_image, 'map<string, variant>'), entry.key)
        ) not in ('STRING', 'VOID'),
        map_contains_key(snapshot_row, entry.key)
        and not entry.value <=> try_element_at(snapshot_row, entry.key)
    )
), false)))
{%- endmacro %}
