{#- Places of events: (topic, partition, offset), or a position. What is new by its place, what is a copy, what is late,
    which offsets lack. A lane is what has one order of places: a partition of a topic, or all positions. -#}

{#- The columns of a landed row that its lane and its place in it are. -#}
{% macro _landing_lane(batch) -%}
    {%- if batch.layout == 'events' -%}
cast(null as string) as mark_topic,
cast(null as int) as mark_partition,
position as mark
    {%- else -%}
topic as mark_topic,
partition as mark_partition,
offset as mark
    {%- endif -%}
{%- endmacro %}


{#- What tells an event from another one at its place; NULL of one that was taken out, which any is like. -#}
{% macro _landed_content() -%}
if(key is null and value is null, null, xxhash64(key, value))
{%- endmacro %}


{#- CTE `rows`, and `files` where there are some: what the batch lands. -#}
{% macro _landing_new_rows(batch) %}
    {% do return(dbt_cdc._landing_rows(batch) if batch.files else dbt_cdc._landing_table_rows(batch)) %}
{% endmacro %}


{% macro _landing_same_place(one, other) -%}
    {{ one }}.mark_topic <=> {{ other }}.mark_topic
    and {{ one }}.mark_partition <=> {{ other }}.mark_partition
    and {{ one }}.mark = {{ other }}.mark
{%- endmacro %}


{#- How far each lane has landed. -#}
{% macro _landing_marks(batch) -%}
    {%- if not batch.log -%}
select
    '' as landed_topic,
    0 as landed_partition,
    cast(null as bigint) as landed_mark
where false
    {%- else -%}
select
    mark_topic as landed_topic,
    mark_partition as landed_partition,
    max(mark) as landed_mark
from (
    select
        {{ dbt_cdc._landing_lane(batch) | indent(8) }}
    from {{ batch.log }}
)
group by mark_topic, mark_partition
    {%- endif -%}
{%- endmacro %}


{#- `groups`: rows of one lane each, in the order of their first places. -#}
{% macro _landing_check_groups(batch, groups) %}
    {% set lanes, suspects, apart = {}, [], [] %}
    {% for group in groups if group.first_mark is not none %}
        {% set lane = (group.mark_topic, group.mark_partition) %}
        {% set last = lanes.get(lane, group.landed_mark) %}
        {% do suspects.append(group.first_mark)
            if last is not none and group.first_mark <= last or group.places < group.events %}
        {% if last is not none and group.first_mark > last + 1
            or group.last_mark - group.first_mark + 1 > group.places %}
            {% do apart.append(lane) %}
        {% endif %}
        {% do lanes.update({lane: [last if last is not none else group.last_mark, group.last_mark] | max}) %}
    {% endfor %}
    {% do dbt_cdc._landing_check_copies(batch, suspects | min) if suspects %}
    {% do dbt_cdc._landing_tell_holes(batch, dbt_cdc._fetch(dbt_cdc._landing_holes(batch)))
        if apart and batch.layout != 'events' and batch.holes != 'pass' %}
{% endmacro %}


{#- Offsets behind all that has landed of a partition that are not in the batch, whatever file they could be in. What
    was removed by hand has landed, too. -#}
{% macro _landing_holes(batch) -%}
with {{ dbt_cdc._landing_new_rows(batch) }},

marks as (
    {{ dbt_cdc._landing_marks(batch) | indent(4) }}
)

select
    mark_topic,
    mark_partition,
    last_mark + 1 as first_offset,
    mark - 1 as last_offset,
    count(*) over () as holes
from (
    select
        mark_topic,
        mark_partition,
        mark,
        lag(mark, 1, landed_mark) over (partition by mark_topic, mark_partition order by mark) as last_mark
    from (
        select mark_topic, mark_partition, mark from rows
        {%- if batch.log %}
        union all
        select substring(topic, 9), partition, offset from {{ batch.log }} where startswith(topic, 'removed.')
        {%- endif %}
    )
    left join marks on mark_topic <=> landed_topic and mark_partition <=> landed_partition
    where mark > coalesce(landed_mark, -1)
)
where mark > last_mark + 1
order by mark_topic, mark_partition, first_offset
limit 5
{%- endmacro %}


{#- Events at places that had landed, or twice in the batch: copies, others, or late. -#}
{% macro _landing_check_copies(batch, first_mark) %}
    {% set found = dbt_cdc._fetch(dbt_cdc._landing_copies(batch, first_mark))[0] %}
    {% set is_of_positions = batch.layout == 'events' %}
    {% if found.other %}
        {% do dbt_cdc._landing_error(
            found.other, 'it is there twice, with different content (' ~ found.other_places ~ ')' ~ (
                ', and so are ' ~ (found.others - 1) ~ ' more' if found.others > 1),
            'only one of them is what the source sent: ' ~ (
                dbt_cdc._landing_advice_anew(batch, found.other_topic) ~ '; else '
                if not is_of_positions and (found.others > 1 or found.other_mark == 0))
            ~ ('correct the file' if batch.files else 'correct the row in ' ~ batch.place) ~ ', or ' ~ (
                'give the event a position behind the last one (' ~ batch.last_position ~ ')' if is_of_positions
                else 'remove what has landed: ' ~ dbt_cdc._landing_statement(
                    'update ' ~ this ~ " set topic = concat('removed.', topic), key = null, value = null where "
                    ~ "topic = '" ~ found.other_topic ~ "' and partition = " ~ found.other_partition
                    ~ ' and offset = ' ~ found.other_mark))
        ) %}
    {% elif found.late and (is_of_positions or batch.late == 'refuse') %}
        {% do dbt_cdc._landing_error(
            found.late_place, found.late ~ ' events come late: the table ' ~ this ~ ' has events of '
            ~ ('positions' if is_of_positions else 'their partition') ~ ' behind them',
            'give them positions behind the last one (' ~ batch.last_position ~ ')' if is_of_positions
            else 'the log continues with them if it still waits for them: land them behind what is there, with '
                ~ "late='take' in " ~ batch.name ~ '(...), for this run'
                ~ ('; ' ~ dbt_cdc._landing_advice_anew(batch, found.late_topic) if found.late_mark == 0)) %}
    {% endif %}
    {% do batch.update(copies=found.copies + found.late, late_events=found.late) %}
    {% do dbt_cdc._log_line(model.name ~ ': leaves out ' ~ found.copies ~ (
        ' event that landed before' if found.copies == 1 else ' events that landed before'))
        if found.copies and dbt_cdc._is_building() %}
{% endmacro %}


{% macro _landing_copies(batch, first_mark) -%}
with {{ dbt_cdc._landing_new_rows(batch) }},

marks as (
    {{ dbt_cdc._landing_marks(batch) | indent(4) }}
),

incoming as (
    select
        mark_topic,
        mark_partition,
        mark,
        xxhash64(rows.key, rows.value) as content,
        true as is_new,
        {%- if batch.files %}
        concat(files.file_name, ' line ', rows.file_line) as place
    from rows
    inner join files on rows.file_path = files.file_path
        {%- else %}
        'a new row' as place
    from rows
        {%- endif %}
    where mark >= {{ first_mark }}
),

landed as (
    {%- if batch.log %}
    select
        {{ dbt_cdc._landing_lane(batch) | indent(8) }},
        {{ dbt_cdc._landed_content() }} as content,
        false as is_new,
        concat('landed at position ', position, coalesce(concat(' from ', file_name, ' line ', file_line), '')) as place
    from {{ batch.log }}
    where {{ 'position' if batch.layout == 'events' else 'offset' }} >= {{ first_mark }}
    {%- else %}
    select * from incoming where false
    {%- endif %}
),

places as (
    select
        mark_topic,
        mark_partition,
        mark,
        count_if(is_new) as news,
        count_if(not is_new) as olds,
        count(distinct content) as contents,
        array_join(slice(array_sort(collect_set(place)), 1, 3), ', ') as all_places
    from (
        select * from incoming
        union all
        select * from landed
    )
    group by mark_topic, mark_partition, mark
    having count_if(is_new) > 0
),

judged as (
    select
        places.*,
        olds = 0 and mark <= coalesce(landed_mark, -1) as is_late,
        concat(coalesce(concat('topic ', mark_topic, ' partition ', mark_partition, ' offset '), 'position '), mark)
            as name
    from places
    left join marks on mark_topic <=> landed_topic and mark_partition <=> landed_partition
),

firsts as (
    select
        sum(news - if(olds > 0, 0, 1)) as copies,
        count_if(is_late) as late,
        count_if(contents > 1) as others,
        min(if(is_late, struct(mark_topic, mark_partition, mark, name, all_places), null)) as late_one,
        min(if(contents > 1, struct(mark_topic, mark_partition, mark, name, all_places), null)) as other
    from judged
)

select
    coalesce(copies, 0) as copies,
    late,
    concat(late_one.name, ' (', late_one.all_places, ')') as late_place,
    late_one.mark_topic as late_topic,
    late_one.mark as late_mark,
    others,
    other.name as other,
    other.all_places as other_places,
    other.mark_topic as other_topic,
    other.mark_partition as other_partition,
    other.mark as other_mark
from firsts
{%- endmacro %}


{#- Of a batch that has events again: the others, each once. -#}
{% macro _landing_without_copies(batch) -%}
(
    select * except (copy)
    from (
        select
            *,
            row_number() over (partition by {{ 'position' if batch.layout == 'events'
                else 'topic, partition, offset' }} order by position) as copy
        from events
    ) as events
    where copy = 1
    {%- if batch.log %}
    and not exists (
        select 1 from {{ batch.log }} as landed
        where
        {%- if batch.layout == 'events' %}
            landed.position = events.position
        {%- else %}
            landed.topic = events.topic
            and landed.partition = events.partition
            and landed.offset = events.offset
        {%- endif %}
    )
    {%- endif %}
) as events
{%- endmacro %}
