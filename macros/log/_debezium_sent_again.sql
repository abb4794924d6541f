{#- A connector that goes on at another server sends transactions again that the log has, with their names, at other
    places, which may be above the log's end. Only those of the times of this batch are looked for. -#}
{% macro _debezium_find_sent_again(events, batch) %}
    {% set known = batch.log ~ " where operation = 'COMMIT' and record_time >= timestamp '" ~ batch.first_time
        ~ "' and tran_id <> 'snapshot'" %}
    {% if batch.first_time is not none and dbt_cdc._fetch('select 1 from ' ~ known ~ ' limit 1') %}
        {% set found = dbt_cdc._fetch(dbt_cdc._debezium_sent_again(events, batch, known))[0] %}
        {% do dbt_cdc._debezium_check_sent_before(batch, found) %}
        {% do batch.update(has_old_ends=true) if found.last_known %}
    {% endif %}
{% endmacro %}


{#- The transactions of the batch that the log knows by name, and those at new places before the last of them, the first
    thousand of either; not what is given up. -#}
{% macro _debezium_sent_again(events, batch, known) -%}
with sent as (
    select
        source.gtid as xid,
        min({{ dbt_cdc._debezium_binlog_place() }}) as wal
    from (
        select from_json(
            coalesce(get_json_object(value, '$.source'), get_json_object(value, '$.payload.source')),
            'gtid string, file string, pos string, snapshot string'
        ) as source
        from {{ events }}
        where position > {{ batch.position }} and position <= {{ batch.last_position }}
    )
    where source.gtid is not null and coalesce(source.snapshot, 'false') = 'false'
    group by source.gtid
),

marked as (
    select
        xid,
        wal,
        tran_id is not null as is_known,
        max(if(tran_id is not null, wal, null)) over () as last_known,
        {{ 'exists(array(' ~ dbt_cdc._literals(dbt_cdc._given_up())
            ~ "), given -> given = xid or startswith(given, concat(xid, ':')))" if dbt_cdc._given_up() else 'false' }}
            as is_given_up
    from sent
    left join (select distinct tran_id from {{ known }}) as known on sent.xid = known.tran_id
),

named as (
    select
        *,
        wal > {{ batch.last_commit }} and wal < last_known as is_before,
        row_number() over (
            partition by is_known, is_given_up, wal > {{ batch.last_commit }} order by wal
        ) <= 1000 and not is_given_up as is_named
    from marked
)

select
    max_by(xid, if(is_known, wal, null)) as last_known,
    to_json(array_sort(collect_list(if(is_named and is_known, struct(wal, xid), null))).xid) as known,
    to_json(array_sort(collect_list(if(is_named and not is_known and is_before, struct(wal, xid), null))).xid) as before
from named
{%- endmacro %}


{#- A connector sends them again one after the other: what it sends before one that the log has, a log that was cut may
    have had. -#}
{% macro _debezium_check_sent_before(batch, found) %}
    {% set known, before = fromjson(found.known), fromjson(found.before) %}
    {% set cut_lsn = dbt_cdc._debezium_cut_lsn(batch) if before %}
    {% if cut_lsn %}
        {% set names = [] %}
        {% for xid in before %}
            {% do names.append({'tran_id': xid}) %}
        {% endfor %}
        {% do dbt_cdc.raise_cdc_error(
            22859,
            'transaction ' ~ found.last_known ~ ' comes again at another place (a '
            ~ 'failover), and before it transaction' ~ dbt_cdc._debezium_named(names) ~ ': the log was cut, begins at '
            ~ cut_lsn ~ ', and no longer tells whether it had these',
            'nothing of this batch is in the log; where it had them, as lsn_time_mapping may tell, give all of them '
            ~ 'up: ' ~ dbt_cdc._give_up(before + known) ~ '; else put back what was removed of the log (restore table '
            ~ batch.log ~ ' to version as of ...), and run again'
        ) %}
    {% endif %}
{% endmacro %}
