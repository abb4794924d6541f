{#- Rows of a snapshot that land when the log is past it are in no transaction of it: those that it lacks stop the
    log. Only for a batch with rows of a snapshot. -#}
{% macro _debezium_check_late_rows(events, batch) %}
    {% set rows, found = dbt_cdc._fetch(dbt_cdc._debezium_late_rows(events, batch)), [] %}
    {% for row in rows %}
        {% do found.append(row.source_schema ~ '.' ~ row.source_name ~ ' (' ~ row.late_rows ~ ')') %}
    {% endfor %}
    {% do dbt_cdc.raise_cdc_error(
        22859, 'rows of the snapshot landed when the log was past it, and it lacks them: ' ~ found | join(', '),
        'land the whole snapshot before what follows it; to have them, write the log anew (dbt run --full-refresh '
        ~ '--select ' ~ dbt_cdc._selected(batch.log) ~ '), which change tables take in as late commits '
        ~ '(' ~ dbt_cdc._page('monitoring.md')
        ~ '); to go on without them, give ' ~ dbt_cdc._give_up(rows | map(attribute='name') | unique | list)
    ) if found %}
{% endmacro %}


{#- A row that lands again has its image in the log, and without a key its position, too. A row of a later snapshot that
    is in the log has landed with it, or with the same text before. -#}
{% macro _debezium_late_rows(events, batch) -%}
{%- set snapshot_lsn = dbt_cdc._debezium_snapshot_lsn() -%}
with {{ dbt_cdc._debezium_envelopes(events, batch, {}) }},

-- a row without a key that tells microseconds comes again with the same text
first_landed as (
    select
        topic as landed_topic,
        value as landed_value,
        min(position) as first_position
    from {{ events }}
    where position <= {{ batch.last_position }}
    group by topic, value
),

snapshot_rows as (
    select
        {{ dbt_cdc._debezium_wal(batch) }} as wal,
        {{ dbt_cdc._debezium_lsn_sql(dbt_cdc._debezium_wal(batch) ~ ' + 1') }} as snapshot_lsn,
        if(
            {{ dbt_cdc._debezium_wal(batch) }} > {{ batch.snapshot_wal }},
            concat('snapshot:', {{ dbt_cdc._debezium_wal(batch) }} + 1), 'snapshot'
        ) as name,
        coalesce(source.schema, source.db) as source_schema,
        source.table as source_name,
        {{ dbt_cdc._debezium_image('after') | indent(8) }} as after_image,
        position,
        first_position,
        if(coalesce(key, 'null') = 'null', if(ts_us is null, position, first_position), null) as only_position
    from envelopes
    left join first_landed
        on topic <=> landed_topic and value = landed_value
    where op = 'r' and not source.snapshot <=> 'incremental'
),

logged_rows as (
    select source_schema, source_name, after_image, position
    from {{ batch.log }}
    where lsn < '{{ snapshot_lsn }}' and operation = 'INSERT'
),

logged_snapshots as (
    select
        lsn as snapshot_lsn,
        position as last_position
    from {{ batch.log }}
    where tran_id = 'snapshot' and operation = 'COMMIT'
),

late_rows as (
    select name, source_schema, source_name
    from snapshot_rows
    left anti join logged_rows
        on
            snapshot_rows.source_schema = logged_rows.source_schema
            and snapshot_rows.source_name = logged_rows.source_name
            and snapshot_rows.after_image <=> logged_rows.after_image
            and coalesce(only_position = logged_rows.position, true)
    where wal <= {{ batch.snapshot_wal }}
    union all
    select name, source_schema, source_name
    from snapshot_rows
    left join logged_snapshots using (snapshot_lsn)
    where
        wal > {{ batch.snapshot_wal }}
        and snapshot_lsn <= '{{ dbt_cdc._debezium_lsn(batch.last_commit) }}'
        and position = first_position
        and coalesce(position > last_position, true)
)

select name, source_schema, source_name, count(*) as late_rows
from late_rows
where not {{ dbt_cdc._is_given_up('name') }}
group by name, source_schema, source_name
order by name, source_schema, source_name
{%- endmacro %}
