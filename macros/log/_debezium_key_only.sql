{#- Where PostgreSQL logs the key of an old row alone (replica identity default), a delete's image has all columns,
    the others invented: NULL, or where the column takes none its default, zero, 1970. No event tells it by itself. A
    table whose deletes look so, while rows of theirs had landed with more, stops the log unless `before_images` names
    it; then its deletes need their keys. -#}
{% macro _debezium_check_deletes(events, batch, before_images) %}
    {% set lacking, names, first, same, topics = [], {}, {}, [], [] %}
    {% for row in dbt_cdc._fetch(dbt_cdc._debezium_bare_deletes(events, batch)) %}
        {% if row.source_table not in before_images and (row.is_bare or row.is_same) %}
            {% do names.update({row.source_table: fromjson(row.names) if row.names else none}) %}
            {% do first.update({row.source_table: row.first_position | int}) %}
            {% do same.append(row.source_table) if row.is_same %}
            {% do topics.append(row.topic or '') if (row.topic or '') not in topics %}
        {% elif row.source_table in before_images and row.lacks_keys %}
            {% do lacking.append(row) %}
        {% endif %}
    {% endfor %}
    {% do dbt_cdc._debezium_raise_deletes('deletes have no key, and before_images names their table', lacking,
        events, batch, true) if lacking %}
    {#- PostgreSQL that logs the row before of an update logs that of a delete, too -#}
    {% if names.values() | select | list %}
        {% for row in dbt_cdc._fetch(dbt_cdc._debezium_whole_updates(events, batch, topics))
            if names.get(row.source_table) and row.position | int < first[row.source_table] %}
            {% do names.pop(row.source_table) %}
        {% endfor %}
    {% endif %}
    {% set found = dbt_cdc._fetch(dbt_cdc._debezium_bared_rows(events, batch, names, same, topics)) if names else [] %}
    {% do dbt_cdc._debezium_raise_deletes('deletes tell the key alone, and the rows had more', found, events, batch,
        names[found[0].source_table] is not none) if found %}
{% endmacro %}


{% macro _debezium_raise_deletes(problem, found, events, batch, lacks_keys) %}
    {% set told = [] %}
    {% for row in found %}
        {% do told.append(row.source_table ~ ' (' ~ row.deletes ~ ')') %}
    {% endfor %}
    {% set name = found[0].source_table %}
    {% do dbt_cdc.raise_cdc_error(
        22859, problem ~ ': ' ~ told | join(', '),
        ('land keys (' ~ dbt_cdc._page('landing.md') ~ '), and give these deletes theirs: an UPDATE of key in '
            ~ events ~ ", sent by run_statement, as '{\"id\":1}'; then " if lacks_keys)
        ~ "say so: before_images={'" ~ name ~ "': 'key'} in debezium_log, and before_image: partial of its "
        ~ 'instances; to have whole rows of later deletes, '
        ~ ('set binlog_row_image=FULL' if batch.is_binlog else 'alter table ' ~ name
            ~ ' replica identity full, and of each partition')
        ~ ' as well; nothing of this batch is in the log'
    ) %}
{% endmacro %}


{#- By topic the tables whose deletes in the batch tell nothing but the key, all or up to a moment or from one on, or
    that all tell the same beside it, as a default. Of deletes without a key what is not told, or told twice, may be
    invented; `names` are columns that tell their rows apart, all of the key's if the deletes tell no more. -#}
{% macro _debezium_bare_deletes(events, batch) -%}
with {{ dbt_cdc._debezium_images_beside_keys(events, batch, ['d'], 'before') }}

select
    source_table,
    topic,
    deletes,
    first_position,
    is_bare,
    is_same,
    lacks_keys,
    if(lacks_keys, to_json(if(
        exists(map_keys(first_row), name -> not first_row[name] <=> last_row[name]),
        filter(map_keys(first_row), name -> not first_row[name] <=> last_row[name]),
        filter(map_keys(first_row), name -> {{ dbt_cdc._debezium_is_told('first_row[name]') | indent(8) }})
    )), null) as names
from (
    select
        source_table,
        topic,
        count(*) as deletes,
        min(position) as first_position,
        bool_or(key is null) as lacks_keys,
        -- all are, or those before or behind a moment
        bool_or(key is null and is_bare)
        or coalesce(max(if(is_bare, position, null)) < min(if(is_bare, null, position)), bool_or(is_bare))
        or coalesce(min(if(is_bare, position, null)) > max(if(is_bare, null, position)), false) as is_bare,
        count(key) > 1 and count(distinct to_json(others)) = 1
        or bool_or(key is null and exists(map_entries(others), entry -> entry.value = previous[entry.key])) as is_same,
        coalesce(min_by(others, if(is_bare, position, null)), min_by(others, position)) as first_row,
        coalesce(max_by(others, if(is_bare, position, null)), max_by(others, position)) as last_row
    from (
        select
            *,
            lag(others) over (partition by source_table, topic order by position) as previous
        from images
    )
    group by source_table, topic
    having max(size(others)) > 0
)
where is_bare or is_same or lacks_keys
{%- endmacro %}


{#- The tables with an update that tells the row before, and where the first one is. -#}
{% macro _debezium_whole_updates(events, batch, topics) -%}
with {{ dbt_cdc._debezium_images_beside_keys(events, batch, ['u'], 'before', topics) }}

select
    source_table,
    min(position) as position
from images
group by source_table
{%- endmacro %}


{#- Of these the ones with a delete of a row that had landed with more than its key: with a value that the delete has
    not. Without keys any row may be the deleted one that is as the delete tells it in the columns `names`. -#}
{% macro _debezium_bared_rows(events, batch, names, same, topics) -%}
with {{ dbt_cdc._debezium_images_beside_keys(events, batch, ['d'], 'before', topics, names=names) }},

deletes as (
    select * from images
    where
        source_table in ({{ dbt_cdc._literals(names) }})
        and (is_bare{{ ' or source_table in (' ~ dbt_cdc._literals(same) ~ ')' if same }})
),

{{ dbt_cdc._debezium_images_beside_keys(
    events, {'last_position': batch.last_position}, ['c', 'r', 'u'], 'after', topics, 'rows_before', 'deletes', names)
}}

select
    source_table,
    count(*) as deletes
from (
    select
        source_table,
        -- the row may have been emptied before
        if(any_value(key) is null, bool_and(has_more), max_by(has_more, row_position)) as has_more
    from (
        select
            deletes.source_table,
            deletes.position,
            deletes.key,
            rows_before.position as row_position,
            exists(
                map_entries(rows_before.others),
                entry -> {{ dbt_cdc._debezium_is_told('entry.value') | indent(16) }}
                and not ({{ dbt_cdc._debezium_has_unavailable(dbt_cdc._debezium_placeholder(batch), 'entry.value') }})
                and map_contains_key(deletes.others, entry.key)
                and not entry.value <=> deletes.others[entry.key]
                -- JSON may be written in other ways
                and not (deletes.key is null and coalesce(deletes.others[entry.key], '') rlike '^[\\[{].')
            ) as has_more
        from deletes
        inner join rows_before
            on deletes.source_table = rows_before.source_table
            and deletes.row_key = rows_before.row_key
            and deletes.position > rows_before.position
    )
    group by source_table, position
)
where has_more
group by source_table
order by source_table
{%- endmacro %}


{#- Whether a value is one that PostgreSQL and Debezium do not put there by themselves. -#}
{% macro _debezium_is_told(value) -%}
coalesce(
    {{ value }} not in ('', 'false', 'AA==', '[]', '{}', 'P0Y0M0DT0H0M0S', '1970-01-01Z', '00:00:00Z')
    and not {{ value }} rlike
        '^(0([.]0+)?\\z|1970-01-01T00:00:00|\\{"scale":0,"value":"AA=="|\\{"x":0[.]0,"y":0[.]0,)', false
)
{%- endmacro %}


{#- CTE of the images of some operations, of rows that the CTE `keys` has, without the columns of the key; where none
    has landed with all, and `names` of the table for `row_key`. `is_bare`: none of the others has a value that
    PostgreSQL and Debezium do not put there by themselves; without a key, that one has not. -#}
{% macro _debezium_images_beside_keys(
    events, batch, operations, image, topics=none, name='images', keys=none, names=none
) -%}
{%- set envelope = 'op string, ' ~ image ~ ' string, source struct<db: string, `schema`: string, `table`: string>' -%}
{%- set without_keys = dict((names or {}).items() | selectattr(1)) -%}
{{ name }} as (
    select
        *,
        not if(
            key is null,
            forall(map_values(others), value -> {{ dbt_cdc._debezium_is_told('value') | indent(12) }}),
            exists(map_values(others), value -> {{ dbt_cdc._debezium_is_told('value') | indent(12) }})
        ) as is_bare,
        {%- if without_keys %}
        coalesce(key, to_json(transform(
            try_element_at(from_json({{ dbt_cdc._literal(tojson(without_keys)) }}, 'map<string, array<string>>'),
                source_table), name -> try_element_at(others, name)
        ))) as row_key
        {%- else %}
        key as row_key
        {%- endif %}
    from (
        select
            position,
            topic,
            if({{ dbt_cdc._debezium_key_names() }} is null, null, key) as key,
            concat(coalesce(event.source.schema, event.source.db), '.', event.source.table) as source_table,
            map_filter(
                from_json(event.{{ image }}, 'map<string, string>'),
                (name, value) -> not array_contains(coalesce({{ dbt_cdc._debezium_key_names() }}, array()), name)
            ) as others
        from (
            select
                position,
                topic,
                key,
                from_json(
                    coalesce(get_json_object(value, '$.payload'), value),
                    '{{ envelope }}'
                ) as event
            from {{ events }}
            -- few events have the letter, and the pattern costs more
            where ({% for operation in operations %}{{ ' or ' if not loop.first }}contains(value, '"{{ operation }}"')
                {%- endfor %}) and value rlike '"op"\\s*:\\s*"[{{ operations | join }}]"'
                {%- if topics %} and (
                    coalesce(topic, '') in ({{ dbt_cdc._literals(topics) }})
                    -- one that was made anew
                    or exists(array({{ dbt_cdc._literals(topics) }}), name -> endswith(topic, '.' || name))
                ){% endif %}
                {%- if keys %} and (
                    key in (select key from {{ keys }})
                    {{- ' or ' ~ dbt_cdc._debezium_key_names() ~ ' is null' if without_keys }}
                ){% endif %}
                {%- if batch.get('position') is not none %} and position > {{ batch.position }}{% endif %}
                {%- if batch.last_position is not none %} and position <= {{ batch.last_position }}{% endif %}
        )
        where event.op in ({{ dbt_cdc._literals(operations) }}) and event.{{ image }} is not null
    )
)
{%- endmacro %}


{#- The names of the members of a key, with or without a schema; NULL of one that is no object. -#}
{% macro _debezium_key_names() -%}
json_object_keys({{ dbt_cdc._debezium_key_text() }})
{%- endmacro %}


{#- A key without its schema, which may change with the table. -#}
{% macro _debezium_key_text() -%}
if(get_json_object(key, '$.schema.type') is not null, get_json_object(key, '$.payload'), key)
{%- endmacro %}
