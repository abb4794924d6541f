{#- The events out of a folder of files, as sinks write them: the body of an incremental (append) Delta model that
    debezium_log reads. Which files are new, and whether anything is wrong with them, is looked at before the
    statement is made; so the statement names its files, and each of them has its positions. `_log.yml` tells the
    arguments, docs/landing.md the layouts and faults. -#}
{% macro landed_files(folder, layout='auto', holes='tell', late='refuse', files_per_run=10000) -%}
    {%- do dbt_cdc._landing_check_arguments('landed_files', holes, late) -%}
    {%- do dbt_cdc._landing_check_files_arguments(folder, layout, files_per_run) -%}
    {%- set batch = dbt_cdc._landing_batch('landed_files', holes, late) -%}
    {%- do batch.update(folder=folder.rstrip('/') or '/', layout=layout, files=[]) -%}
    {%- do dbt_cdc._landing_find_files(batch, files_per_run) if batch.is_looking -%}
    {%- do dbt_cdc._landing_check_changed(batch) if batch.changed -%}
    {%- do dbt_cdc._landing_look(batch) if batch.files -%}
    {%- do dbt_cdc._landing_check_progress(batch, files_per_run) if batch.files -%}
    {%- if batch.files -%}
{{ dbt_cdc._landing_events(batch) }}
{{- dbt_cdc._appended_once('position > ' ~ batch.last_position) if batch.log }}
    {%- else -%}
        {%- do dbt_cdc._landing_check_stays(batch) -%}
-- nothing is new
{{ dbt_cdc._no_rows(dbt_cdc._landing_columns()) }}
    {%- endif %}
{%- endmacro %}


{#- All files of a folder, as a first batch has them; of lines that have offsets the first one tells. -#}
{% macro _landing_of_folder(folder) %}
    {% set batch = dict(
        dbt_cdc._landing_first_batch('landed_files', 'pass', 'take'), folder=folder, layout='auto', files=[]) %}
    {% do dbt_cdc._landing_find_files(batch, 10000) %}
    {% do batch.update(layout='kafka_records') if batch.files and batch.layout in ['kafka_connect', 'events']
        and dbt_cdc._fetch('with ' ~ dbt_cdc._landing_lines(batch) ~ ' select ' ~ dbt_cdc._landing_is_record('line')
            ~ " as is_record from read_lines where line <> '' limit 1") | map(attribute='is_record') | select | list %}
    {% do dbt_cdc._landing_look(batch) if batch.files %}
    {% do return(batch) %}
{% endmacro %}


{#- The rows of the files that the batch lands, and an error where a file is not as it was at the look. Where each line
    has its own offset, files tell nothing of their order. -#}
{% macro _landing_events(batch) -%}
with {{ dbt_cdc._landing_rows(batch) }},

{% if batch.layout in ['kafka_records', 'parquet'] -%}
placed as (
    select
        *,
        row_number() over (order by arrived_at, topic, partition, offset) as number
    from (
        select
            *,
            max(file_modified_at) over (partition by topic, partition order by offset) as arrived_at
        from rows
    )
),

{% endif -%}
events as (
    select
        {%- if batch.layout == 'events' %}
        rows.position,
        {%- elif batch.layout == 'kafka_connect' %}
        files.first_position + rows.file_line - 1 as position,
        {%- else %}
        {{ batch.last_position }}L + rows.number as position,
        {%- endif %}
        rows.topic,
        rows.partition,
        rows.offset,
        {{ dbt_cdc._landing_unchanged(batch) | indent(8) }} as key,
        rows.value,
        rows.headers,
        rows.timestamp,
        files.file_name,
        rows.file_line,
        files.file_size,
        files.file_modified_at
    from files
    left join {{ 'placed as ' if batch.layout in ['kafka_records', 'parquet'] }}rows on files.file_path = rows.file_path
    where rows.file_path is not null or files.line_count > 0
)

select *
from {{ dbt_cdc._landing_without_copies(batch) | indent(4) if batch.copies else 'events' }}
{%- endmacro %}


{#- Files of which nothing lands stay new: where others wait behind them, no run would get to those. -#}
{% macro _landing_check_progress(batch, files_per_run) %}
    {% set found = batch.files | map(attribute='files') | max %}
    {% if found > files_per_run and batch.events == batch.copies - batch.late_events %}
        {% set names = batch.files | map(attribute='file_name') | list %}
        {% do dbt_cdc._landing_error(
            batch.place, 'all events of ' ~ names | length ~ ' files landed before under other names: '
            ~ names[:5] | join(', ') ~ (', ...' if names | length > 5),
            'move them out; other files wait behind them') %}
    {% endif %}
{% endmacro %}


{% macro _landing_check_files_arguments(folder, layout, files_per_run) %}
    {% do dbt_cdc.raise_cdc_error(
        22963, "landed_files: folder is '" ~ folder ~ "'",
        "name the folder as Spark finds it, e.g. 's3a://bucket/topics' or '/landing/shop'"
    ) if folder is not string or not folder | trim %}
    {% set layouts = ['auto', 'kafka_connect', 'kafka_records', 'events', 'parquet'] %}
    {% do dbt_cdc.raise_cdc_error(
        22963, "landed_files: layout is '" ~ layout ~ "'", 'give one of ' ~ layouts | join(', ')
    ) if layout not in layouts %}
    {% do dbt_cdc.raise_cdc_error(
        22963, "landed_files: files_per_run is '" ~ files_per_run ~ "'", 'give a number of files, 1 or more'
    ) if files_per_run is not integer or files_per_run < 1 %}
{% endmacro %}
