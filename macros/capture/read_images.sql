{#- The images of records, each value read once: the JSON parser reads all columns of both images as
    types that lose nothing; what a column is then made of them, column_values.sql says. -#}

{#- The steps from `records` to `typed`: a row for each image that a record leaves, `row_operation` 1 to 4,
    its columns in the struct `value`, and `is_misfit`. `instance` is a capture instance or a tracked table. -#}
{% macro _image_steps(instance) -%}
{%- set columns = instance.columns -%}
{%- set before = dbt_cdc._logged_before(instance) -%}
parsed as (
    select
        *,
        {{ dbt_cdc._indent(dbt_cdc._parsed_images(columns), 8) }} as json,
        get(json.images, 0) as {{ before }},
        get(json.images, 1) as after
    from records
),

-- a null may be an absent key: what only the after image lacks has not changed
compared as (
    select
        *,
        if(operation = 'UPDATE' and (
            {{ dbt_cdc._flow(dbt_cdc._null_tests(instance), ' or ', 12) }}
        ), array(
            {{ dbt_cdc._flow(dbt_cdc._name_literals(dbt_cdc._logged_columns(columns)), ', ', 12) }}
        ), null) as names,
        array_except(names, json_object_keys(after_image)) as kept,
        array_except(array_except(names, json_object_keys(before_image)), kept) as missing,
        {%- if before == 'before' %}
        {{ dbt_cdc._indent(dbt_cdc._complete_before(instance), 8) }} as old,
        {%- endif %}
        if(size(kept) > 0, named_struct(
            {%- for column in columns %}
            {{ dbt_cdc._chosen_field(column, 'kept', before, 'after') }}{{ ',' if not loop.last }}
            {%- endfor %}
        ), after) as new,
        {{- dbt_cdc._mask_parts(instance) }}
        {{ dbt_cdc._is_key_change(instance) }} as is_key_change
    from parsed
),

-- a row for each image; what the parser rounds or cannot tell shows beside the value made of it
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
        {{ dbt_cdc._indent(dbt_cdc._is_misfit(instance), 8) }}
            as is_misfit
    from compared
    lateral view inline(case operation
        when 'INSERT' then array(struct(2, new as image, after_image as text))
        when 'DELETE' then array(struct(1, old as image, before_image as text))
        else array(struct(if(is_key_change, 1, 3), old as image, before_image as text),
            struct(if(is_key_change, 2, 4), new as image, after_image as text))
    end) images as row_operation, image, text
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
    concat('{"images":[', before_image, ',', after_image, ']}'),
    'images array<struct<
        {{ dbt_cdc._flow(fields, ', ', 16) | replace('\n                ', '\n        ') }}
    >>, malformed string',
    map('columnNameOfCorruptRecord', 'malformed', 'locale', 'en-GB',
        'allowSingleQuotes', 'false')
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
if(size(missing) > 0, named_struct(
    {%- for column in instance.columns %}
    {% if column.name in instance.index_columns -%}
    {{ dbt_cdc._chosen_field(column, 'missing', 'after', 'before') }}
    {%- else -%}
    {{ dbt_cdc._literal(column.name) }}, before.{{ dbt_cdc._column(column.name) }}
    {%- endif %}{{ ',' if not loop.last }}
    {%- endfor %}
), before)
{%- endmacro %}


{#- A column out of `image`, or out of another one where it is `listed`: large values that do not change are not
    logged again. -#}
{% macro _chosen_field(column, listed, other, image) -%}
    {%- set name = dbt_cdc._literal(column.name) -%}
    {{ name }}, (if(array_contains({{ listed }}, {{ name }}), {{ other }}, {{ image }})).{{ dbt_cdc._column(column.name) }}
{%- endmacro %}
