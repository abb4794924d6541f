{#- The images of records, each value read once: the JSON parser reads all columns of both images as
    types that lose nothing; what a column is then made of them, column_values.sql says. -#}

{#- The steps from `records` to `typed`: a row for each image that a record leaves, `row_operation` 1 to 4,
    its columns in the struct `value`, and `misfit`. `instance` is a capture instance or a tracked table. -#}
{% macro _image_steps(instance) -%}
{%- set columns = instance.columns -%}
{%- set before = dbt_cdc._logged_before(instance) -%}
parsed as (
    select
        *,
        {{ dbt_cdc._indent(dbt_cdc._parsed_images(columns), 8) }} as json,
        get(json.images, 0) as {{ before }},
        get(json.images, 1) as after,
        if(locate('{', before_image, 2) = 0 and not contains(before_image, '\\"'),
            before_image, '') as flat
    from records
),

-- an absent key and a null differ only in an update, where the images do not show that it is a null
complete as (
    select
        *,
        operation = 'UPDATE' and (
            {{ dbt_cdc._flow(dbt_cdc._null_tests(instance), ' or ', 12) }}
        ) as has_nulls,
        if(has_nulls, json_object_keys(coalesce(before_image, '{}')), null) as old_keys,
        if(has_nulls, json_object_keys(coalesce(after_image, '{}')), null) as new_keys,
        array_except(new_keys, old_keys) as before_lacks,
        array_except(old_keys, new_keys) as after_lacks,
        {%- if before == 'before' %}
        {{ dbt_cdc._indent(dbt_cdc._complete_before(instance), 8) }} as old,
        {%- endif %}
        if(size(after_lacks) > 0, named_struct(
            {%- for column in columns %}
            {{ dbt_cdc._present_field(column, 'after', before) }}{{ ',' if not loop.last }}
            {%- endfor %}
        ), after) as new
    from parsed
),

compared as (
    select
        *,
        {{- dbt_cdc._mask_parts(instance) }}
        {{ dbt_cdc._is_key_change(instance) }} as is_key_change
    from complete
),

changes as (
    select
        *,
        inline(case operation
            when 'INSERT' then array(struct(2, new as image, after_image as text))
            when 'DELETE' then array(struct(1, old as image, before_image as text))
            else array(
                struct(if(is_key_change, 1, 3), old as image, before_image as text),
                struct(if(is_key_change, 2, 4), new as image, after_image as text)
            )
        end) as (row_operation, image, text)
    from compared
),

-- what the parser has rounded or cannot tell shows beside the value that is made of it
typed as (
    select
        *,
        named_struct(
            {{ dbt_cdc._flow(dbt_cdc._fields(columns), ', ', 12) }}
        ) as value,
        {%- if dbt_cdc._columns_of(columns, ['decimal']) %}
        contains(text, '00000000') or contains(text, '99999999')
        or contains(text, 'e-') or contains(text, 'E-') as is_long,
        {%- endif %}
        {%- if instance.before_image == 'complete' %}
        array({{ dbt_cdc._flow(dbt_cdc._name_literals(dbt_cdc._logged_columns(columns)), ', ', 12) }}) as names,
        {%- endif %}
        {{ dbt_cdc._indent(dbt_cdc._misfit(instance), 8) }} as misfit
    from changes
)
{%- endmacro %}


{#- Both images in one document, so that anything behind an image is an error too. In this locale a
    comma is no part of a number. -#}
{% macro _parsed_images(columns) -%}
    {%- set fields = [] -%}
    {%- for column in columns -%}
        {%- do fields.append(dbt_cdc._literal(
            dbt_cdc._column(column.name) ~ ': ' ~ dbt_cdc._parser_type(column))[1:-1]) -%}
    {%- endfor -%}
from_json(
    concat('{"images":[', coalesce(before_image, '{}'), ',', coalesce(after_image, '{}'), ']}'),
    'images array<struct<
        {{ dbt_cdc._flow(fields, ', ', 16) | replace('\n                ', '\n        ') }}
    >>, malformed string',
    map('columnNameOfCorruptRecord', 'malformed', 'locale', 'en-GB',
        'allowSingleQuotes', 'false', 'allowNonNumericNumbers', 'false')
)
{%- endmacro %}


{#- All but the computed ones. -#}
{% macro _logged_columns(columns) %}
    {% set logged = [] %}
    {% for column in columns if not dbt_cdc._is_computed(column) %}
        {% do logged.append(column) %}
    {% endfor %}
    {% do return(logged) %}
{% endmacro %}


{% macro _fields(columns) %}
    {% set fields = [] %}
    {% for column in columns %}
        {% do fields.append(
            dbt_cdc._literal(column.name) ~ ', ' ~ dbt_cdc._indent(dbt_cdc._value(column, 'image'), 12)) %}
    {% endfor %}
    {% do return(fields) %}
{% endmacro %}


{#- The name of the before image as it is logged, `before` where `old` is another one. -#}
{% macro _logged_before(instance) -%}
    {{ 'before' if instance.before_image == 'partial' and instance.index_columns else 'old' }}
{%- endmacro %}


{#- Key columns that a partial before image lacks come from the after image. -#}
{% macro _complete_before(instance) -%}
if(size(before_lacks) > 0, named_struct(
    {%- for column in instance.columns %}
    {% if column.name in instance.index_columns -%}
    {{ dbt_cdc._present_field(column, 'before', 'after') }}
    {%- else -%}
    {{ dbt_cdc._literal(column.name) }}, before.{{ dbt_cdc._column(column.name) }}
    {%- endif %}{{ ',' if not loop.last }}
    {%- endfor %}
), before)
{%- endmacro %}


{#- A column out of an image, or where that lacks it, out of the other: large values that do not change are
    not logged again. -#}
{% macro _present_field(column, image, other) -%}
    {%- set name, field = dbt_cdc._literal(column.name), '.' ~ dbt_cdc._column(column.name) -%}
    {{ name }}, if(array_contains({{ image }}_lacks, {{ name }}), {{ other ~ field }}, {{ image ~ field }})
{%- endmacro %}
