{#- Which files of a folder are new, and which have changed since they were read. -#}

{#- Fills the batch: layout; files in the order in which they arrived, those of a partition in the order of their
    offsets; changed ones; how many wait for the next run. -#}
{% macro _landing_find_files(batch, files_per_run) %}
    {% do batch.update(place='folder ' ~ batch.folder) %}
    {% set found = dbt_cdc._fetch(dbt_cdc._landing_listing(batch, files_per_run)) %}
    {% set companions, kinds = {}, {} %}
    {% for file in found %}
        {% if file.kind == 'companion' %}
            {% do companions.update({(file.belongs_to, file.companion): file.file_path}) %}
        {% elif file.is_changed %}
            {% do batch.changed.append(file) %}
        {% else %}
            {% do kinds.setdefault(file.kind, file.file_name) %}
            {% do batch.files.append(file) %}
        {% endif %}
    {% endfor %}
    {% do batch.update(companions=companions, companions_kept=[]) %}
    {% do batch.update(layout=dbt_cdc._landing_layout(batch, kinds)) if batch.files %}
    {% do batch.update(layout=dbt_cdc._landing_layout(batch, {batch.changed[0].kind: ''}))
        if batch.changed and not batch.files %}
    {% do dbt_cdc._log_line(model.name ~ ': lands ' ~ files_per_run ~ ' of ' ~ batch.files[0].files
        ~ ' files that are new; the next run goes on with the others')
        if batch.files and batch.files[0].files > files_per_run and dbt_cdc._is_building() %}
    {% do dbt_cdc._log_line(model.name ~ ': compares ' ~ files_per_run ~ ' of ' ~ batch.changed[0].files
        ~ ' files whose size or time is no longer that of what landed, the last ones first; to have all compared, '
        ~ 'give files_per_run')
        if batch.changed and batch.changed[0].files > files_per_run and dbt_cdc._is_building() %}
    {% do dbt_cdc._landing_find_companions(batch, found[0]) if found %}
{% endmacro %}


{#- Sinks that keep keys or headers write them into a file beside that of the values, a line each. -#}
{% macro _landing_find_companions(batch, folder) %}
    {% for companion in ['keys', 'headers'] if folder['keeps_' ~ companion] %}
        {% for file in batch.files + batch.changed %}
            {% set path = batch.companions.get((file.file_name, companion)) %}
            {% do dbt_cdc._landing_error(
                'file ' ~ file.file_name,
                'it has no file of ' ~ companion ~ ' beside it, and others of the folder have',
                'run again when the sink has written it; keep ' ~ companion ~ ' for all topics or for none')
                if not path %}
            {% do file.update({companion ~ '_path': path}) %}
        {% endfor %}
        {% do batch.companions_kept.append(companion) %}
    {% endfor %}
{% endmacro %}


{% macro _landing_layout(batch, kinds) %}
    {% if batch.layout in ['kafka_connect', 'parquet'] %}
        {% set needed = {'kafka_connect': 'connect', 'parquet': 'parquet'}[batch.layout] %}
        {% for kind, file_name in kinds.items() if kind != needed %}
            {% do dbt_cdc._landing_error(
                'file ' ~ file_name, 'its name is not as layout ' ~ batch.layout ~ ' has it ('
                ~ {'connect': '<topic>+<partition>+<start offset>.json', 'parquet': '... .parquet'}[needed] ~ ')',
                'move it out of ' ~ batch.folder ~ ', or give the layout of all files') %}
        {% endfor %}
    {% elif batch.layout == 'auto' and kinds | length > 1 %}
        {% do dbt_cdc._landing_error(
            'folder ' ~ batch.folder, 'its files have several layouts: ' ~ kinds.values() | join(', '),
            'give each layout a folder and a landing model of its own') %}
    {% elif batch.layout == 'auto' %}
        {% for kind in kinds %}
            {% do return({'connect': 'kafka_connect', 'parquet': 'parquet', 'other': 'events'}[kind]) %}
        {% endfor %}
    {% endif %}
    {% do return(batch.layout) %}
{% endmacro %}


{#- A file's name is its path in the folder. `arrived_at`: a file cannot have arrived before one that has lower offsets
    of its partition, as in a folder that was copied. -#}
{% macro _landing_listing(batch, files_per_run) -%}
    {%- set folder = batch.folder[2:] if batch.folder.startswith('./') else batch.folder %}
with listed as (
    select
        _metadata.file_path as file_path,
        if(
            contains(path, {{ dbt_cdc._literal(folder ~ '/') }}),
            substr(path, instr(path, {{ dbt_cdc._literal(folder ~ '/') }}) + {{ folder | length + 1 }}),
            path
        ) as path_in_folder,
        _metadata.file_size as file_size,
        _metadata.file_modification_time as file_modified_at
    from {{ dbt_cdc._landing_source('binaryFile', batch.folder) }}
),

named as (
    select
        *,
        ltrim('/', path_in_folder) as file_name,
        regexp_extract(path_in_folder, '[+][0-9]+[+][0-9]+[.](keys|headers)[.][^/]*\\z', 1) as companion,
        substring_index(path_in_folder, '/', -1) as last_name
    from listed
),

companions as (
    select
        coalesce(bool_or(companion = 'keys'), false) as keeps_keys,
        coalesce(bool_or(companion = 'headers'), false) as keeps_headers
    from named
),

placed as (
    select
        *,
        case
            when companion <> '' then 'companion'
            when last_name rlike {{ dbt_cdc._landing_connect_name() }} then 'connect'
            when last_name rlike '[.]parquet\\z' then 'parquet'
            else 'other'
        end as kind,
        regexp_replace(file_name, '([+][0-9]+[+][0-9]+)[.](keys|headers)[.]([^/]*)\\z', '$1.$3') as belongs_to,
        nullif(regexp_extract(last_name, {{ dbt_cdc._landing_connect_name() }}, 1), '') as topic,
        cast(nullif(regexp_extract(last_name, {{ dbt_cdc._landing_connect_name() }}, 2), '') as int) as partition,
        cast(nullif(regexp_extract(last_name, {{ dbt_cdc._landing_connect_name() }}, 3), '') as bigint) as start_offset
    from named
),

landed as (
    {%- if batch.log %}
    select
        file_name as landed_name,
        max(file_size) as landed_size,
        max(file_modified_at) as landed_modified_at
    from {{ batch.log }}
    where file_name is not null
    group by file_name
    {%- else %}
    select
        '' as landed_name,
        0 as landed_size,
        cast(null as timestamp) as landed_modified_at
    where false
    {%- endif %}
),

found as (
    select
        placed.*,
        landed_size,
        landed_name is not null as is_changed,
        if(
            topic is null, file_modified_at,
            max(file_modified_at) over (partition by topic, partition order by start_offset, file_name)
        ) as arrived_at
    from placed
    left join landed on placed.file_name = landed_name
    where
        landed_name is null
        or kind = 'companion'
        or landed_size <> file_size
        or landed_modified_at <> file_modified_at
),

counted as (
    select
        *,
        row_number() over (
            partition by is_changed, kind = 'companion'
            -- a sink writes its last files again; all of a folder that was copied are younger than they were
            order by
                is_changed and landed_size <> file_size desc,
                if(is_changed, file_modified_at, null) desc,
                arrived_at, topic, partition, start_offset, file_name
        ) as number,
        count(*) over (partition by is_changed, kind = 'companion') as files
    from found
)

select
    file_path,
    file_name,
    kind,
    keeps_keys,
    keeps_headers,
    companion,
    belongs_to,
    topic,
    partition,
    start_offset,
    file_size,
    unix_micros(file_modified_at) as file_micros,
    landed_size,
    is_changed,
    files
from counted
cross join companions
where
    kind <> 'companion' and number <= {{ files_per_run }}
    or kind = 'companion' and belongs_to in (select file_name from found where kind <> 'companion')
order by number
{%- endmacro %}


{#- Numbers that are longer are of other files. Sinks of HDFS add the last offset. -#}
{% macro _landing_connect_name() -%}
'^([^+]+)[+](0*[0-9]{1,9})[+](0*[0-9]{1,18})(?:[+][0-9]{1,19})?[.](?:json|jsonl)(?:[.][a-z0-9]+)?\\z'
{%- endmacro %}


{#- A sink that begins again writes its last files again, some longer, some shorter: lines that are the same are no
    change, and of lines behind all that has landed the file is a new one. -#}
{% macro _landing_check_changed(batch) %}
    {% set rows = dbt_cdc._fetch(dbt_cdc._landing_difference(dict(batch, files=batch.changed))) %}
    {% set longer = [] %}
    {% for row in rows %}
        {% set file = batch.changed | selectattr('file_name', 'equalto', row.file_name) | first %}
        {% if row.difference == 'goes on' %}
            {% do longer.append(dict(file, files=0)) %}
        {% else %}
            {% set never = [] %}
            {% for new in rows if new.file_name == row.file_name and new.difference in ['is new', 'goes on'] %}
                {% do never.append(new.lines ~ ' from line ' ~ new.file_line ~ ' on') %}
            {% endfor %}
            {% do dbt_cdc._landing_error(
                'file ' ~ row.file_name ~ ', line ' ~ row.file_line,
                'the file changed after it was read (' ~ file.landed_size ~ ' bytes then, ' ~ file.file_size
                ~ ' now): this line ' ~ row.difference,
                (dbt_cdc._landing_advice_anew(batch, row.mark_topic) ~ '; else '
                    if row.mark_topic and row.difference == 'is another' and (row.lines > 1 or row.file_line == 1))
                ~ 'put the file back as it was, and what is new into a file of its own; or, if what has landed is '
                ~ 'right as it is: ' ~ ('first put its new lines (' ~ never | join(', ')
                    ~ '), which would never land then, into a file of their own; ' if never)
                ~ dbt_cdc._landing_statement(
                    'update ' ~ batch.log ~ ' set file_size = ' ~ file.file_size
                    ~ ', file_modified_at = timestamp_micros(' ~ file.file_micros ~ ') where file_name = '
                    ~ dbt_cdc._literal(row.file_name))
            ) %}
        {% endif %}
    {% endfor %}
    {% do batch.update(files=longer + batch.files) %}
{% endmacro %}


{% macro _landing_difference(batch) -%}
with {{ dbt_cdc._landing_rows(batch) }},

present as (
    select
        files.file_name,
        rows.*,
        xxhash64(rows.key, rows.value) as content
    from rows
    inner join files on rows.file_path = files.file_path
),

landed as (
    select
        file_name,
        file_line,
        {{ dbt_cdc._landing_lane(batch) | indent(8) }},
        {{ dbt_cdc._landed_content() }} as content
    from {{ batch.log }}
),

marks as (
    {{ dbt_cdc._landing_marks(batch) | indent(4) }}
),

differences as (
    select
        present.file_name,
        present.file_line,
        present.mark_topic,
        case
            when present.problem is not null then concat('is no event: ', present.problem)
            when landed.mark is not null then if(present.content <> landed.content, 'is another', null)
            when present.mark <= landed_mark then 'is new'
            else 'goes on'
        end as difference
    from present
    left join landed on {{ dbt_cdc._landing_same_place('present', 'landed') }}
    left join marks on present.mark_topic <=> landed_topic and present.mark_partition <=> landed_partition
    {%- if batch.layout == 'events' %}
    union all
    select
        landed.file_name,
        landed.file_line,
        null as mark_topic,
        'is gone' as difference
    from landed
    left join present on {{ dbt_cdc._landing_same_place('present', 'landed') }}
    where landed.file_name in (select file_name from files) and present.mark is null
    {%- endif %}
)

select
    file_name,
    difference,
    min(file_line) as file_line,
    min_by(mark_topic, file_line) as mark_topic,
    count(*) as lines
from differences
where difference is not null
group by file_name, difference
order by difference = 'goes on', file_name, file_line
{%- endmacro %}
