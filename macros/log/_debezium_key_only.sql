{#- Where PostgreSQL logs the key of an old row alone (replica identity default), a delete's image has all columns,
    the others invented: NULL, or zero and the like. No event tells it by itself. A table whose deletes all look so,
    while rows of theirs had landed with more, stops the log unless `before_images` names it. -#}
{% macro _debezium_check_deletes(events, batch, before_images) %}
    {% set topics = [] %}
    {% for row in dbt_cdc._fetch(dbt_cdc._debezium_bare_deletes(events, batch)) %}
        {% do topics.append(row.topic) if row.source_table not in before_images %}
    {% endfor %}
    {% set found = dbt_cdc._fetch(dbt_cdc._debezium_bared_rows(events, batch, topics)) if topics else [] %}
    {% if found %}
        {% set tables = [] %}
        {% for row in found %}
            {% do tables.append(row.source_table ~ ' (' ~ row.deletes ~ ')') %}
        {% endfor %}
        {% set name = found[0].source_table %}
        {% do dbt_cdc.raise_cdc_error(
            22859, 'deletes tell the key alone, and the rows had more: ' ~ tables | join(', '),
            "say so: before_images={'" ~ name ~ "': 'key'} in debezium_log, and before_image: partial of its "
            ~ 'instances; for whole rows from here on, ' ~ ('set binlog_row_image=FULL'
            if dbt_cdc._debezium_reads_binlog(batch) else 'alter table ' ~ name ~ ' replica identity full')
            ~ '; nothing of this batch is in the log'
        ) %}
    {% endif %}
{% endmacro %}


{#- By topic the tables whose deletes in the batch all tell nothing but the key. -#}
{% macro _debezium_bare_deletes(events, batch) -%}
with {{ dbt_cdc._debezium_images_beside_keys(events, batch, ['d'], 'before') }}

select
    topic,
    max(source_table) as source_table
from images
group by topic
having max(size(others)) > 0 and not bool_or(tells_more)
{%- endmacro %}


{#- Of these the ones with a delete of a row that had landed with more than its key. -#}
{% macro _debezium_bared_rows(events, batch, topics) -%}
with {{ dbt_cdc._debezium_images_beside_keys(events, batch, ['d'], 'before', topics) }},

deletes as (
    select * from images
),

{{ dbt_cdc._debezium_images_beside_keys(
    events, {'last_position': batch.last_position}, ['c', 'r', 'u'], 'after', topics, 'rows_before') }}

select
    source_table,
    count(*) as deletes
from (
    select
        deletes.source_table,
        -- the row may have been emptied before
        max_by(rows_before.tells_more, rows_before.position) as had_more
    from deletes
    inner join rows_before
        on deletes.topic = rows_before.topic
        and deletes.key = rows_before.key
        and deletes.position > rows_before.position
    group by deletes.source_table, deletes.position
)
where had_more
group by source_table
order by source_table
{%- endmacro %}


{#- CTE of the images of some operations, without the columns of the key; `tells_more`: one of the others has a value
    that PostgreSQL and Debezium do not put there by themselves. -#}
{% macro _debezium_images_beside_keys(events, batch, operations, image, topics=none, name='images') -%}
{%- set envelope = 'op string, ' ~ image ~ ' string, source struct<db: string, `schema`: string, `table`: string>' -%}
{{ name }} as (
    select
        *,
        coalesce(exists(
            map_values(others), value -> value not in ('', '0', '0.0', 'false', 'AA==', '[]', '{}')
        ), false) as tells_more
    from (
        select
            position,
            topic,
            key,
            concat(coalesce(event.source.schema, event.source.db), '.', event.source.table) as source_table,
            map_filter(
                from_json(event.{{ image }}, 'map<string, string>'),
                (name, value) -> not array_contains(json_object_keys(
                    if(get_json_object(key, '$.schema.type') = 'struct', get_json_object(key, '$.payload'), key)
                ), name)
            ) as others
        from (
            select
                position,
                topic,
                key,
                from_json(
                    if(startswith(value, '{"schema"'), get_json_object(value, '$.payload'), value),
                    '{{ envelope }}'
                ) as event
            from {{ events }}
            -- few events have the letter, and the pattern costs more
            where ({% for operation in operations %}{{ ' or ' if not loop.first }}contains(value, '"{{ operation }}"')
                {%- endfor %}) and value rlike '"op"\\s*:\\s*"[{{ operations | join }}]"'
                {%- if topics %} and topic in ({{ dbt_cdc._literals(topics) }}){% endif %}
                {%- if batch.get('position') is not none %} and position > {{ batch.position }}{% endif %}
                {%- if batch.last_position is not none %} and position <= {{ batch.last_position }}{% endif %}
        )
        where event.op in ({{ dbt_cdc._literals(operations) }}) and event.{{ image }} is not null
    )
)
{%- endmacro %}
