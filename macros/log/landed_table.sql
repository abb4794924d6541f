{#- The events out of a table with topic, partition and offset, as Structured Streaming, a Kafka read or an ingestion
    tool writes it: the body of an incremental (append) Delta model that debezium_log reads. `_log.yml` tells the
    arguments. -#}
{% macro landed_table(relation, columns=none, holes='tell', late='refuse') -%}
    {%- do dbt_cdc._landing_check_arguments('landed_table', holes, late) -%}
    {%- set batch = dbt_cdc._landing_batch('landed_table', holes, late) -%}
    {%- do batch.update(relation=relation, place='table ' ~ relation, layout='table', lanes=[], names=columns or {}) -%}
    {%- if batch.is_looking -%}
        {%- do batch.update(columns=dbt_cdc._landing_source_columns(relation, batch.names, batch.place)) -%}
        {%- do batch.update(
            has_times=batch.columns.timestamp != dbt_cdc._landing_value('timestamp', '', none)) -%}
        {%- do dbt_cdc._landing_look_at_table(batch) -%}
    {%- endif -%}
    {%- if batch.row_count -%}
with {{ dbt_cdc._landing_table_rows(batch) }},

lanes as (
    select
        topic,
        cast(partition as int) as partition,
        cast(landed_mark as bigint) as landed_mark,
        cast(last_mark as bigint) as last_mark
    from values
        {%- for lane in batch.lanes %}
        ({{ dbt_cdc._literal(lane.mark_topic) }}, {{ lane.mark_partition }}, {# -#}
        {{ -1 if lane.landed_mark is none else lane.landed_mark }}, {{ lane.last_mark }}){{ ',' if not loop.last }}
        {%- endfor %}
        as lanes (topic, partition, landed_mark, last_mark)
),

-- an offset cannot have arrived before a lower one of its partition
arrived as (
    select
        rows.*,
        max(rows.timestamp) over by_offset as arrived_at,
        lag(rows.offset) over by_offset as previous_offset
    from rows
    inner join lanes on rows.topic = lanes.topic and rows.partition = lanes.partition
    where
        rows.offset <= lanes.last_mark
        {%- if batch.late_rows %}
        and (rows.offset > lanes.landed_mark or not exists (
            select 1 from {{ batch.log }} as landed
            where
                landed.topic = rows.topic
                and landed.partition = rows.partition
                and landed.offset = rows.offset
        ))
        {%- else %}
        and rows.offset > lanes.landed_mark
        {%- endif %}
    window by_offset as (partition by rows.topic, rows.partition order by rows.offset)
),

-- as the look has seen them; a row also where none is left
counted as (
    select
        arrived.*,
        count(mark) over () as row_count,
        coalesce(sum({{ dbt_cdc._landing_table_print(batch) }}) over (), 0) as print
    from (select 1)
    left join arrived on true
)

select
    {{ batch.last_position }}L + row_number() over (order by arrived_at, topic, partition, offset) as position,
    topic,
    partition,
    offset,
    if(
        row_count = {{ batch.row_count }} and print = {{ batch.print }}, key,
        {{ dbt_cdc._raise_bad_record(
            dbt_cdc._literal(batch.place), "'rows of it went, came or changed while it was read'",
            'run again: nothing of this batch has landed'
        ) | indent(8) }}
    ) as key,
    value,
    headers,
    timestamp,
    cast(null as string) as file_name,
    cast(null as bigint) as file_line,
    cast(null as bigint) as file_size,
    cast(null as timestamp) as file_modified_at
from counted
where (mark is null or not previous_offset <=> offset)
{{- dbt_cdc._appended_once('position > ' ~ batch.last_position, 'and') if batch.log }}
    {%- else -%}
        {%- do dbt_cdc._landing_check_stays(batch) -%}
-- nothing is new
{{ dbt_cdc._no_rows(dbt_cdc._landing_columns()) }}
    {%- endif %}
{%- endmacro %}


{#- Looks at what the table has of each partition: above what has landed, and below it what is unlike it. -#}
{% macro _landing_look_at_table(batch) %}
    {% set groups, below = [], [] %}
    {% set found = dbt_cdc._fetch(dbt_cdc._landing_table_groups(batch)) %}
    {% for group in found %}
        {% if group.mark_topic is none or group.mark_partition is none or group.unplaced %}
            {% set unplaced = [] %}
            {% for name in ['topic', 'partition', 'offset'] %}
                {% do unplaced.append(dbt_cdc._column(batch.names.get(name, name)) ~ ' is null') %}
            {% endfor %}
            {% do dbt_cdc._landing_error(batch.place, 'rows of it have no topic, no partition or no offset',
                'look at them: select * from ' ~ batch.relation ~ ' where ' ~ unplaced | join(' or ')) %}
        {% endif %}
        {% do groups.append(group) if group.events %}
        {% do below.append(group) if group.unlike_landed %}
    {% endfor %}
    {% do batch.update(
        lanes=groups, row_count=groups | sum(attribute='events'), print=groups | sum(attribute='print')) %}
    {% set untimed = dbt_cdc._fetch(dbt_cdc._landing_table_groups(dict(batch, has_times=false, is_untimed=true)))
        | selectattr('unlike_landed') | list if found | selectattr('untimed') | list else [] %}
    {% if below or untimed %}
        {% do dbt_cdc._landing_check_copies(batch, (below + untimed) | map(attribute='first_below') | min) %}
        {% do batch.update(
            late_rows=true, lanes=dbt_cdc._landing_all_lanes(groups, below),
            row_count=batch.row_count + below | sum(attribute='late'),
            print=batch.print + below | sum(attribute='late_print')
        ) if below and batch.late == 'take' and batch.copies %}
    {% endif %}
    {% do dbt_cdc._landing_check_groups(batch, groups) %}
{% endmacro %}


{% macro _landing_all_lanes(groups, below) %}
    {% set lanes = groups | list %}
    {% for group in below if group not in groups %}
        {% do lanes.append(dict(group, last_mark=group.landed_mark)) %}
    {% endfor %}
    {% do return(lanes) %}
{% endmacro %}


{#- A row below what has landed is unlike it where its place did not land, or landed with another timestamp; of those
    without a timestamp, or with the -1 of an old format, contents are compared (`is_untimed`: of these alone). The
    source may have deleted rows since they landed. -#}
{% macro _landing_table_groups(batch) -%}
{%- set content = dbt_cdc._landing_table_content(batch) -%}
{%- set is_untimed = 'coalesce(timestamp < timestamp_seconds(0), true)' -%}
with {{ dbt_cdc._landing_table_rows(batch) }},

marks as (
    {{ dbt_cdc._landing_marks(batch) | indent(4) }}
),

{% if batch.log -%}
known as (
    select
        topic as known_topic,
        partition as known_partition,
        offset as known_mark,
        max({{ content if batch.has_times else dbt_cdc._landed_content() }}) as known_content
    from {{ batch.log }}
    {{- '\n    where ' ~ is_untimed if batch.is_untimed }}
    group by topic, partition, offset
),

{% endif -%}
news as (
    select
        mark_topic,
        mark_partition,
        mark,
        landed_mark,
        coalesce(mark > landed_mark, true) as is_new,
        {{ 'mark <= landed_mark and (known_mark is null or '
            ~ ('not ' ~ content ~ ' <=> known_content' if batch.has_times
                else 'coalesce(' ~ content ~ ' <> known_content, false)') ~ ')'
            if batch.log else 'false' }} as is_unlike,
        {{ 'mark <= landed_mark and ' ~ is_untimed if batch.log and batch.has_times else 'false' }} as is_untimed,
        {{ 'mark <= landed_mark and known_mark is null' if batch.log else 'false' }} as is_late,
        {{ dbt_cdc._landing_table_print(batch) }} as print
    from rows
    left join marks on mark_topic <=> landed_topic and mark_partition <=> landed_partition
    {%- if batch.log %}
    left join known on mark_topic = known_topic and mark_partition = known_partition and mark = known_mark
    {%- endif %}
    {{- '\n    where ' ~ is_untimed if batch.is_untimed }}
)

select
    mark_topic,
    mark_partition,
    count_if(mark is null) as unplaced,
    count_if(is_new) as events,
    count(distinct if(is_new, mark, null)) as places,
    min(if(is_new, mark, null)) as first_mark,
    max(if(is_new, mark, null)) as last_mark,
    count_if(is_unlike) as unlike_landed,
    count_if(is_untimed) as untimed,
    min(if(is_unlike, mark, null)) as first_below,
    coalesce(sum(if(is_new, print, null)), 0) as print,
    count_if(is_late) as late,
    coalesce(sum(if(is_late, print, null)), 0) as late_print,
    max(landed_mark) as landed_mark
from news
group by mark_topic, mark_partition
order by mark_topic, mark_partition
{%- endmacro %}


{% macro _landing_table_content(batch) %}
    {% do return('timestamp' if batch.has_times else 'xxhash64(key, value)') %}
{% endmacro %}


{#- A number of a row: that of other rows has another sum. -#}
{% macro _landing_table_print(batch) %}
    {% do return('hash(mark_topic, mark_partition, mark, ' ~ dbt_cdc._landing_table_content(batch) ~ ')') %}
{% endmacro %}
