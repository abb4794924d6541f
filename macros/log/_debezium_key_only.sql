{#- Where PostgreSQL logs the key of an old row alone (replica identity default), a delete's image has all columns,
    the others invented: NULL, or where the column takes none its default, zero, 1970. No event tells it by itself. A
    table whose deletes all look so, while rows of theirs had landed with more, stops the log unless `before_images`
    names it. -#}
{% macro _debezium_check_deletes(events, batch, before_images) %}
    {% set tables, topics = [], [] %}
    {% for row in dbt_cdc._fetch(dbt_cdc._debezium_bare_deletes(events, batch))
        if row.source_table not in before_images %}
        {% do tables.append(row.source_table) %}
        {% do topics.append(row.topic) if row.topic not in topics %}
    {% endfor %}
    {% set found = dbt_cdc._fetch(dbt_cdc._debezium_bared_rows(events, batch, tables, topics)) if tables else [] %}
    {% if found %}
        {% set told = [] %}
        {% for row in found %}
            {% do told.append(row.source_table ~ ' (' ~ row.deletes ~ ')') %}
        {% endfor %}
        {% set name = found[0].source_table %}
        {% do dbt_cdc.raise_cdc_error(
            22859, 'deletes tell the key alone, and the rows had more: ' ~ told | join(', '),
            "say so: before_images={'" ~ name ~ "': 'key'} in debezium_log, and before_image: partial of its "
            ~ 'instances; for whole rows from here on, ' ~ ('set binlog_row_image=FULL'
            if dbt_cdc._debezium_reads_binlog(batch) else 'alter table ' ~ name ~ ' replica identity full')
            ~ '; nothing of this batch is in the log'
        ) %}
    {% endif %}
{% endmacro %}


{#- By topic the tables whose deletes in the batch all tell nothing but the key, or all the same beside it, as a
    default. -#}
{% macro _debezium_bare_deletes(events, batch) -%}
with {{ dbt_cdc._debezium_images_beside_keys(events, batch, ['d'], 'before') }}

select
    source_table,
    topic
from images
group by source_table, topic
having
    max(size(others)) > 0
    and (not bool_or(tells_more) or count(*) > 1 and count(distinct to_json(others)) = 1)
{%- endmacro %}


{#- Of these the ones with a delete of a row that had landed with more than its key: with a value that the delete has
    not. -#}
{% macro _debezium_bared_rows(events, batch, tables, topics) -%}
with {{ dbt_cdc._debezium_images_beside_keys(events, batch, ['d'], 'before', topics) }},

deletes as (
    select * from images
    where source_table in ({{ dbt_cdc._literals(tables) }})
),

{{ dbt_cdc._debezium_images_beside_keys(
    events, {'last_position': batch.last_position}, ['c', 'r', 'u'], 'after', topics, 'rows_before', 'deletes') }}

select
    source_table,
    count(*) as deletes
from (
    select
        deletes.source_table,
        any_value(deletes.others) as told,
        -- the row may have been emptied before
        max_by(rows_before.others, rows_before.position) as last_row
    from deletes
    inner join rows_before
        on deletes.source_table = rows_before.source_table
        and deletes.key = rows_before.key
        and deletes.position > rows_before.position
    group by deletes.source_table, deletes.position
)
where exists(
    map_entries(last_row),
    entry -> {{ dbt_cdc._debezium_is_told('entry.value') | indent(4) }}
    and not ({{ dbt_cdc._debezium_has_unavailable(dbt_cdc._debezium_placeholder(batch), 'entry.value') }})
    and map_contains_key(told, entry.key)
    and not entry.value <=> told[entry.key]
)
group by source_table
order by source_table
{%- endmacro %}


{#- Whether a value is one that PostgreSQL and Debezium do not put there by themselves. -#}
{% macro _debezium_is_told(value) -%}
coalesce(
    {{ value }} not in ('', '0', '0.0', '0.00', 'false', 'AA==', '[]', '{}', 'P0Y0M0DT0H0M0S')
    and not startswith({{ value }}, '1970-01-01T00:00:00'), false
)
{%- endmacro %}


{#- CTE of the images of some operations, of rows that the CTE `keys` has, without the columns of the key; `tells_more`:
    one of the others has a value that PostgreSQL and Debezium do not put there by themselves. -#}
{% macro _debezium_images_beside_keys(events, batch, operations, image, topics=none, name='images', keys=none) -%}
{%- set envelope = 'op string, ' ~ image ~ ' string, source struct<db: string, `schema`: string, `table`: string>' -%}
{{ name }} as (
    select
        *,
        exists(map_values(others), value -> {{ dbt_cdc._debezium_is_told('value') | indent(8) }}) as tells_more
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
                {%- if keys %} and key in (select key from {{ keys }}){% endif %}
                {%- if batch.get('position') is not none %} and position > {{ batch.position }}{% endif %}
                {%- if batch.last_position is not none %} and position <= {{ batch.last_position }}{% endif %}
        )
        where event.op in ({{ dbt_cdc._literals(operations) }}) and event.{{ image }} is not null
    )
)
{%- endmacro %}
