{#- The columns of new instances as the log's images name them. Spark tells columns apart without regard to letter case,
    the JSON parser does not: a name in another case, or misspelt, would be NULL in every row. -#}

{#- Gives new instances the images' spelling of their names, or stops where none has a column and they have one that
    is not captured: it may be the one that is meant.
    Only images that are whole are asked, of updates both, as one may lack large values; none of updates where the
    instance accepts partial ones. Of each table 100 say enough, but for a column that they lack. -#}
{% macro _take_logged_names(instances, log) %}
    {% set found = dbt_cdc._logged_names(instances, log, 100) %}
    {% do dbt_cdc._check_tables_are_logged(
        instances | rejectattr('name', 'in', found.keys() | list) | list, log) %}
    {% do dbt_cdc._check_respelt_beginning(instances, log) %}
    {% for instance in instances %}
        {% set names = found.get(instance.name, []) %}
        {% do names.extend(dbt_cdc._all_names(instance, log, has_images=names)) if dbt_cdc._unlogged(instance, names) %}
        {% set missing = dbt_cdc._unlogged(instance, names) if names else [] %}
        {% set declared = instance.columns | map(attribute='name') | map('lower') | list %}
        {% do dbt_cdc._raise_unlogged(
            instance, missing, names, 'name them as the source does, or leave out what it does not have yet')
            if missing and names | map('lower') | reject('in', declared) | list %}
        {% do dbt_cdc._spell_as(instance, names) %}
        {% for name in names | sort if instance.capture_from == 'log_start' %}
            {% do dbt_cdc._check_spelling_of_column(instance, name, log) %}
        {% endfor %}
    {% endfor %}
{% endmacro %}


{#- Stops where records have a captured column in another letter case alone: its values would be NULL. A table may have
    both names, and another instance of it, also one that has ended, may capture the other one. -#}
{% macro _check_spelling_of_column(instance, name, records) %}
    {% set column = instance.columns[(dbt_cdc._find_ordinal(instance.columns, name) or 0) - 1].name %}
    {% if column | lower == name | lower and column != name %}
        {% set others = [] %}
        {% for row in dbt_cdc._registered_if_any().values()
            if row.source_schema == instance.source_schema and row.source_name == instance.source_name %}
            {% do others.extend(row.columns | map(attribute='column_name')) %}
        {% endfor %}
        {% set keys = 'array_contains(' ~ dbt_cdc._image_keys() ~ ', ' %}
        {% set lsn = dbt_cdc._fetch(
            'select min(lsn) as lsn from ' ~ records ~ ' where '
            ~ dbt_cdc._is_of_table(instance.source_schema, instance.source_name)
            ~ " and operation in ('INSERT', 'UPDATE', 'DELETE') and " ~ keys ~ dbt_cdc._literal(name) ~ ') and not '
            ~ keys ~ dbt_cdc._literal(column) ~ ')')[0].lsn if name not in others %}
        {% do dbt_cdc.raise_cdc_error(
            22859, 'bad log record of table ' ~ instance.table ~ ', column ' ~ name ~ ', lsn ' ~ lsn
            ~ ": other images spell it '" ~ column ~ "', as " ~ instance.name ~ ' captures it',
            'a column has one spelling in all images; ' ~ dbt_cdc._bad_record_advice()
            ~ '. Where the source has renamed it, a second instance has the new name (dbt run-operation enable_table)'
        ) if lsn %}
    {% endif %}
{% endmacro %}


{#- In all images, also those that lack others, and in the last DDL. -#}
{% macro _all_names(instance, log, has_images=true) %}
    {% set names = dbt_cdc._logged_names([dict(instance, before_image='complete')], log).get(instance.name, [])
        if has_images else [] %}
    {% set ddl = dbt_cdc._last_ddl(log, instance.source_schema, instance.source_name) %}
    {% do names.extend(ddl.columns | map(attribute='name')) if ddl and ddl.columns %}
    {% do return(names) %}
{% endmacro %}


{% macro _raise_unlogged(instance, missing, names, way_out) %}
    {% do dbt_cdc.raise_cdc_error(
        22930, "capture instance '" ~ instance.name ~ "' captures columns that no image of table " ~ instance.table
        ~ ' has: ' ~ missing | join(', ') ~ '; the images have '
        ~ names | unique(case_sensitive=true) | sort | join(', '), way_out
    ) %}
{% endmacro %}


{#- The names of the columns that the images lack in any letter case. -#}
{% macro _unlogged(instance, names) %}
    {% set known, missing = names | map('lower') | list, [] %}
    {% for column in dbt_cdc._logged_columns(instance.columns) if column.name | lower not in known %}
        {% do missing.append(column.name) %}
    {% endfor %}
    {% do return(missing) %}
{% endmacro %}


{% macro _spell_as(instance, names) %}
    {% set spelling, columns, keys = {}, [], [] %}
    {% for name in names | sort %}
        {% do spelling.setdefault(name | lower, name) %}
    {% endfor %}
    {% for column in instance.columns %}
        {% set name = column.name if column.name in names else spelling.get(column.name | lower, column.name) %}
        {% do spelling.update({column.name | lower: name}) %}
        {% do columns.append(dict(column, name=name)) %}
    {% endfor %}
    {% for name in instance.index_columns %}
        {% do keys.append(spelling[name | lower]) %}
    {% endfor %}
    {% do instance.update(columns=columns, index_columns=keys) %}
{% endmacro %}


{#- The `names` in each whole image of an instance's table, of an update in both, and whether it has a NULL. -#}
{% macro _whole_images_sql(instance, log, images, is_latest) -%}
select array_union(
    json_object_keys(coalesce(after_image, '{}')), json_object_keys(coalesce(before_image, '{}'))
) as names, coalesce(after_image, before_image) rlike '": *null *[,}]' as has_null
from {{ log }}
where {{ dbt_cdc._is_of_table(instance.source_schema, instance.source_name) }}
    and operation in ('INSERT'{{ ", 'UPDATE', 'DELETE'" if instance.before_image == 'complete' }})
{{ 'order by lsn desc' if is_latest }} {{ 'limit ' ~ images if images }}
{%- endmacro %}


{#- The names in the images of each instance's table, up to `images` of them, the latest ones or any, by instance. -#}
{% macro _logged_names(instances, log, images=none, is_latest=false) %}
    {% set queries, found = [], {} %}
    {% for instance in instances %}
        {% set query -%}
            select {{ dbt_cdc._literal(instance.name) }} as name, explode(names) as column_name
            from (
                {{ dbt_cdc._indent(dbt_cdc._whole_images_sql(instance, log, images, is_latest), 16) }}
            )
        {%- endset %}
        {% do queries.append(query) %}
    {% endfor %}
    {% for row in dbt_cdc._fetch(
        'select name, to_json(collect_set(column_name)) as names from (' ~ queries | join(' union all ')
        ~ ') group by name'
    ) %}
        {% do found.update({row.name: fromjson(row.names)}) %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}
