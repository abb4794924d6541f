{#- The look at new files before they land. -#}

{#- Looks at the new files once: what is wrong stops the run, what is right gives each file its positions. -#}
{% macro _landing_look(batch) %}
    {% set files, first_position = {}, batch.last_position + 1 %}
    {% set groups = dbt_cdc._fetch(dbt_cdc._landing_groups(batch)) %}
    {% for group in groups if group.problem %}
        {% set file = batch.files | selectattr('file_path', 'equalto', group.file_path) | first %}
        {% do dbt_cdc._landing_error(
            'file ' ~ file.file_name ~ ', line ' ~ group.problem_line, group.problem
            ~ (': ' ~ group.problem_text if group.problem_text),
            'give the landing model this layout' if group.problem == dbt_cdc._landing_record_line()
                else 'write the file anew as it ought to be, under the same name, and run again') %}
    {% endfor %}
    {% for group in groups %}
        {% do files.update({group.file_path: [files.get(group.file_path, 0), group.lines] | max}) %}
    {% endfor %}
    {% do batch.update(events=groups | sum(attribute='events')) %}
    {% set positions = [first_position] %}
    {% for file in batch.files %}
        {% do file.update(first_position=positions[-1], lines=files.get(file.file_path, 0)) %}
        {% do positions.append(positions[-1] + files.get(file.file_path, 0)) %}
    {% endfor %}
    {% do dbt_cdc._landing_check_companions(batch, files) if batch.companions_kept %}
    {% do dbt_cdc._landing_check_groups(batch, groups) %}
{% endmacro %}


{#- What each file has of each partition. -#}
{% macro _landing_groups(batch) -%}
with {{ dbt_cdc._landing_rows(batch) }},

marks as (
    {{ dbt_cdc._landing_marks(batch) | indent(4) }}
),

grouped as (
    select
        file_path,
        mark_topic,
        mark_partition,
        count(*) as events,
        max(file_line) as lines,
        count(distinct mark) as places,
        min(mark) as first_mark,
        max(mark) as last_mark,
        min(if(problem is null, null, struct(file_line, problem, left(text, 200) as text))) as first_problem
    from rows
    group by file_path, mark_topic, mark_partition
)

select
    grouped.* except (first_problem),
    first_problem.problem as problem,
    first_problem.file_line as problem_line,
    first_problem.text as problem_text,
    landed_mark
from grouped
left join marks on mark_topic <=> landed_topic and mark_partition <=> landed_partition
order by problem is null, mark_topic, mark_partition, first_mark, last_mark
{%- endmacro %}


{% macro _landing_check_companions(batch, files) %}
    {% set counted = {} %}
    {% for row in dbt_cdc._fetch('with ' ~ dbt_cdc._landing_lines(batch)
        ~ ' select file_path, max(file_line) as lines from lines group by file_path') %}
        {% do counted.update({row.file_path: row.lines}) %}
    {% endfor %}
    {% for file in batch.files %}
        {% for companion in batch.companions_kept %}
            {% set lines = counted.get(file[companion ~ '_path'], 0) %}
            {% do dbt_cdc._landing_error('file ' ~ file.file_name, 'it has ' ~ files.get(file.file_path, 0)
                ~ ' lines, and the file of its ' ~ companion ~ ' has ' ~ lines,
                'a line of one belongs to the same line of the other: let the sink write both again')
                if lines != files.get(file.file_path, 0) %}
        {% endfor %}
    {% endfor %}
{% endmacro %}
