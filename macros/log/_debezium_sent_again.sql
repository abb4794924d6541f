{#- A connector that goes on at another server sends transactions again that the log has, with their names, at other
    places, which may be above the log's end. Only those of the times of this batch are looked for. -#}
{% macro _debezium_find_sent_again(events, batch) %}
    {% set known = batch.log ~ " where operation = 'COMMIT' and record_time >= timestamp '" ~ batch.first_time
        ~ "' and tran_id <> 'snapshot'" %}
    {% if batch.first_time is not none and dbt_cdc._fetch('select 1 from ' ~ known ~ ' limit 1') %}
        {% set found, before = [], [] %}
        {% for row in dbt_cdc._fetch(dbt_cdc._debezium_sent_again(events, batch, known)) %}
            {% do (found if row.is_known else before).append(row.xid) %}
        {% endfor %}
        {% do dbt_cdc._debezium_check_sent_before(batch, found, before) if before %}
        {% do batch.update(has_old_ends=true) if found %}
    {% endif %}
{% endmacro %}


{#- The transactions of the batch at new places before one that the log knows by name, then those that it knows. -#}
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
)

select xid, is_known
from (
    select
        xid,
        wal,
        tran_id is not null as is_known,
        max(if(tran_id is not null, wal, null)) over () as last_known
    from sent
    left join (select distinct tran_id from {{ known }}) as known on sent.xid = known.tran_id
)
where is_known or wal > {{ batch.last_commit }} and wal < last_known
order by is_known, wal
limit 10000
{%- endmacro %}


{#- A connector sends them again one after the other: what it sends before one that the log has, a log that was cut may
    have had. -#}
{% macro _debezium_check_sent_before(batch, found, before) %}
    {% set given, names = ' ' ~ dbt_cdc._given_up() | join(' ') ~ ' ', [] %}
    {% for xid in before if ' ' ~ xid ~ ' ' not in given and ' ' ~ xid ~ ':' not in given %}
        {% do names.append({'tran_id': xid}) %}
    {% endfor %}
    {% set cut_lsn = dbt_cdc._debezium_cut_lsn(batch) if names %}
    {% if cut_lsn %}
        {% do dbt_cdc.raise_cdc_error(
            22859,
            'transaction ' ~ found[-1] ~ ' comes again at another place (a failover), and before it transaction'
            ~ dbt_cdc._debezium_named(names) ~ ': the log was cut, begins at ' ~ cut_lsn
            ~ ', and no longer tells whether it had these',
            'nothing of this batch is in the log; where it had them, as lsn_time_mapping may tell, give all of them '
            ~ 'up: vars: {cdc_give_up_transactions: ' ~ tojson(before + found) ~ '}; else put back what was removed of '
            ~ 'the log (restore table ' ~ batch.log ~ ' to version as of ...), and run again'
        ) %}
    {% endif %}
{% endmacro %}
