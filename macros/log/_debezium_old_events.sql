{#- Events of transactions at or below the log's end are copies of what the log has, or they stop it: nothing can take
    them in. Only for a batch with such events. -#}
{% macro _debezium_check_old_events(events, batch, before_images) %}
    {% set late, other = [], [] %}
    {% for row in dbt_cdc._fetch(dbt_cdc._debezium_old_events(events, batch, before_images)) %}
        {% do (late if row.is_late else other).append(row) %}
    {% endfor %}
    {% set cut_lsn = dbt_cdc._debezium_cut_lsn(batch) if late + other %}
    {% set go_on = (
        '; the log ' ~ ('has no snapshot' if batch.is_sqlserver else 'was cut')
        ~ ' and begins at ' ~ cut_lsn ~ ': what is named may be in the part that was removed'
        if cut_lsn else '') ~ '; to go on without what is named, give '
        ~ dbt_cdc._give_up((late or other)[:5] | map(attribute='tran_id') | list) %}
    {% set anew = 'where they landed late, ' ~ dbt_cdc._anew_advice(batch.log) %}
    {% if late %}
        {% do dbt_cdc.raise_cdc_error(
            22859,
            'transaction' ~ dbt_cdc._debezium_named(late) ~ ' committed at or below the end of the log, '
            ~ dbt_cdc._debezium_last_lsn(batch) ~ ', and is not in it'
            ~ ': the events landed late, or the LSNs of the source went back (a restored backup, a failover, a new '
            ~ 'cluster)',
            'nothing of this batch is in the log; ' ~ anew ~ '; where the source began anew, give its events a log '
            ~ 'and a schema of their own' ~ go_on
        ) %}
    {% elif other %}
        {% do dbt_cdc.raise_cdc_error(
            22859,
            'events of transaction' ~ dbt_cdc._debezium_named(other) ~ ' landed when the log had it, and it has no '
            ~ 'change of the same place and images: ' ~ other[0].tables,
            'nothing of this batch is in the log; ' ~ anew ~ go_on
        ) %}
    {% endif %}
{% endmacro %}


{#- The names of the first transactions that were found, and how many there are. -#}
{% macro _debezium_named(rows) %}
    {% do return(
        ('s ' if rows | length > 1 else ' ') ~ rows[:5] | map(attribute='tran_id') | join(', ')
        ~ (' and ' ~ (rows | length - 5) ~ ' more' if rows | length > 5)
    ) %}
{% endmacro %}


{#- By transaction the events that are no copies: of an END its COMMIT is one, of a change a record of its place and
    images. Each half of a key change has its image in the one UPDATE. -#}
{% macro _debezium_old_events(events, batch, before_images) -%}
with {{ dbt_cdc._debezium_events(events, batch, before_images) }},

{% if batch.is_sqlserver -%}
old_events as (
    select *
    from events
    where kind in ('END', 'c', 'u', 'd') and xid <= '{{ batch.last_lsn }}'
),
{%- else -%}
{{ dbt_cdc._debezium_owners(batch) }},

old_events as (
    select
        *,
        {{ dbt_cdc._debezium_lsn_sql('commit_number') }} as commit_lsn
    from owned
    where
        commit_number <= {{ batch.last_commit }}
        and {{ 'coalesce(position, ended_at)' if batch.has_untold else 'position' }} is not null
        and kind in ('END', 'c', 'u', 'd', 't', 'ddl')
),
{%- endif %}

logged as (
    select
        lsn,
        tran_id,
        operation,
        source_schema,
        source_name,
        before_image,
        after_image,
        ddl_command,
        source_lsn
    from {{ batch.log }}
),

unknown as (
    select old_events.*
    from old_events
    left anti join logged
        on
            xid = tran_id
            and (kind = 'END') = (operation = 'COMMIT')
            and (kind <> 'END' or lsn = commit_lsn)
            and (kind = 'END' or (
                {{ 'change_lsn = lsn' if batch.is_sqlserver else 'wal = coalesce(source_lsn, wal)' }}
                and old_events.source_schema = logged.source_schema
                and old_events.source_name = logged.source_name
                and (after is null or after = after_image)
                and (before is null or before = if(kind = 'ddl', ddl_command, before_image))
                and (kind = 't') = (operation = 'TRUNCATE')
                and (kind = 'ddl') = (operation = 'DDL')
            ))
)

{% if batch.is_sqlserver -%}
-- without transaction metadata no END tells that the COMMIT is missing
select
    xid as tran_id,
    not bool_or(commits.lsn is not null) as is_late,
    concat_ws(', ', sort_array(collect_set(concat(unknown.source_schema, '.', unknown.source_name)))) as tables
from unknown
left join (select lsn from logged where operation = 'COMMIT') as commits on xid = commits.lsn
where not {{ dbt_cdc._is_given_up('xid') }}
group by xid
order by xid
{%- else -%}
select
    concat_ws(':', xid, commit_number) as tran_id,
    bool_or(kind = 'END') as is_late,
    concat_ws(', ', sort_array(collect_set(concat(source_schema, '.', source_name)))) as tables
from unknown
where not {{ dbt_cdc._is_given_up() }}
group by xid, commit_number
order by commit_number
{%- endif %}
limit 1000
{%- endmacro %}
