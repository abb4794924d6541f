{#- What this run reads: the events after `position` up to `last_position` (none: all).
    `last_commit` is the commit number of the last transaction in the log (0: none yet, or nothing new to come after),
    `first_change` the lowest WAL position of the new events, `has_snapshot_rows` whether rows of a snapshot are
    among them. -#}
{% macro _debezium_batch(events, log, is_incremental) %}
    {% set batch = {
        'log': log, 'is_incremental': is_incremental, 'position': none, 'last_position': none,
        'last_commit': 0, 'first_change': none, 'has_snapshot_rows': false,
    } %}
    {% if not is_incremental %}
        {% do return(batch) %}
    {% endif %}
    {% set position = dbt_cdc._fetch(
        'select max(resume_position) as position from ' ~ log
    )[0].position %}
    {% if position is not none %}
        {% do batch.update(position=position, last_position=position) %}
        {% set news = dbt_cdc._fetch(dbt_cdc._debezium_news(events, position))[0] %}
        {% if news.last_position is not none %}
            {% set last_lsn = dbt_cdc._fetch(
                'select max(lsn) as lsn from ' ~ log ~ ' where resume_position = ' ~ position
            )[0].lsn %}
            {% do batch.update(news, last_commit=last_lsn[2:16] | int(base=16)) %}
        {% endif %}
    {% endif %}
    {% do return(batch) %}
{% endmacro %}


{% macro _debezium_news(events, position) -%}
    select
        max(position) as last_position,
        min(cast(coalesce(
            event.source.lsn, event.payload.source.lsn, split_part(coalesce(event.id, event.payload.id), ':', 2)
        ) as bigint)) as first_change,
        bool_or(coalesce(event.op, event.payload.op) = 'r') as has_snapshot_rows
    from (
        select
            position,
            from_json(
                value, 'id string, op string, source struct<lsn: string>, {# -#}
                payload struct<id: string, op: string, source: struct<lsn: string>>'
            ) as event
        from {{ events }}
        where position > {{ position }}
    )
{%- endmacro %}
