{#- Rows of a snapshot that land when the log is past it are in no transaction of it: those that it lacks stop the
    log. Only for a batch with rows of a snapshot. -#}
{% macro _debezium_check_late_rows(events, batch) %}
    {% set found = [] %}
    {% for row in dbt_cdc._fetch(dbt_cdc._debezium_late_rows(events, batch)) %}
        {% do found.append(row.source_schema ~ '.' ~ row.source_name ~ ' (' ~ row.late_rows ~ ')') %}
    {% endfor %}
    {% if found %}
        {% do dbt_cdc.raise_cdc_error(
            22859, 'rows of the snapshot landed when the log was past it, and it lacks them: ' ~ found | join(', '),
            'land the whole snapshot before what follows it; to have them, write the log anew (dbt run --full-refresh '
            ~ '--select ' ~ batch.log.identifier ~ '), which change tables take in as late commits '
            ~ '(docs/monitoring.md); to go on without them, give vars: {cdc_give_up_transactions: ["snapshot"]}'
        ) %}
    {% endif %}
{% endmacro %}


{#- A row that lands again has its image in the log, and without a key its position, too. A row of a later snapshot,
    which holds no changes, lies behind the first commit after the first snapshot. -#}
{% macro _debezium_late_rows(events, batch) -%}
{%- set snapshot_lsn = dbt_cdc._debezium_lsn(dbt_cdc._debezium_snapshot_commit()) -%}
with {{ dbt_cdc._debezium_envelopes(events, batch, {}) }},

-- a row without a key that tells microseconds comes again with the same text
first_landed as (
    select
        topic,
        value,
        min(position) as first_position
    from {{ events }}
    where position <= {{ batch.last_position }}
    group by topic, value
),

snapshot_rows as (
    select
        cast(source.lsn as bigint) as wal,
        source.schema as source_schema,
        source.table as source_name,
        {{ dbt_cdc._debezium_image('after') | indent(8) }} as after_image,
        if(coalesce(key, 'null') = 'null', if(ts_us is null, position, first_position), null) as only_position
    from envelopes
    left join first_landed using (topic, value)
    where op = 'r' and not source.snapshot <=> 'incremental'
),

logged_rows as (
    select source_schema, source_name, after_image, position
    from {{ batch.log }}
    where lsn < '{{ snapshot_lsn }}' and operation = 'INSERT'
),

first_commit as (
    select cast(conv(substr(min(lsn), 3, 14), 16, 10) as bigint) as commit_number
    from {{ batch.log }}
    where lsn > '{{ snapshot_lsn }}' and operation = 'COMMIT'
)

select source_schema, source_name, count(*) as late_rows
from snapshot_rows
left anti join logged_rows
    on
        snapshot_rows.source_schema = logged_rows.source_schema
        and snapshot_rows.source_name = logged_rows.source_name
        and snapshot_rows.after_image <=> logged_rows.after_image
        and coalesce(only_position = logged_rows.position, true)
cross join first_commit
where coalesce(wal < commit_number, true)
group by source_schema, source_name
order by source_schema, source_name
{%- endmacro %}
