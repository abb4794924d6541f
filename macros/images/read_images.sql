{#- The images of records, each value read once: the JSON parser reads all columns of both images as
    types that lose nothing; what a column is then made of them, column_values.sql says. -#}

{#- The steps from `parsed`, the records with both images read, to `typed`: a row for each image that a record leaves,
    `row_operation` 1 to 4, its columns in the struct `value`, and `is_misfit`. `instance` is a capture instance or a
    tracked table. -#}
{% macro _image_steps(instance) -%}
{%- set columns = instance.columns -%}
{%- set before = dbt_cdc._logged_before(instance) -%}
-- a null may be an absent key: what only the after image lacks has not changed
compared as (
    select
        *,
        get(json.images, 0) as {{ before }},
        get(json.images, 1) as post,
        if(operation = 'UPDATE' and (
            {{ dbt_cdc._flow(dbt_cdc._null_tests(instance), ' or ', 12) }}
        ), array({{ dbt_cdc._flow(dbt_cdc._name_literals(dbt_cdc._logged_columns(columns)), ', ', 12, 5) }}), null) as names,
        array_except(names, json_object_keys(after_image)) as kept,
        array_except(array_except(names, json_object_keys({{ "coalesce(before_image, '{}')" if instance.before_image == 'partial'
            else 'before_image' }})), kept) as missing,
        {%- if before == 'before' %}
        {{ dbt_cdc._indent(dbt_cdc._complete_before(instance), 8) }} as old,
        {%- endif %}
        if(size(kept) > 0, named_struct(
            {%- for column in columns %}
            {{ dbt_cdc._chosen_field(column, 'kept', before, 'post') }}{{ ',' if not loop.last }}
            {%- endfor %}
        ), post) as new,
        {{- dbt_cdc._mask_parts(instance) }}
        {{ dbt_cdc._is_key_change(instance) }} as is_key_change
    from parsed
),

typed as (
    select
        *,
        named_struct(
            {%- set fields = [] %}
            {%- for column in columns %}
            {%- do fields.append(dbt_cdc._literal(column.name) ~ ', ' ~ dbt_cdc._value(column, 'image')) %}
            {%- endfor %}
            {{ dbt_cdc._flow(fields, ', ', 12) }}
        ) as value,
        {%- set misfit = dbt_cdc._is_misfit(instance) %}
        {%- if 'has_run' in misfit or 'is_long' in misfit %}
        contains(text, '0000000') or contains(text, '9999999') as has_run,
        {%- endif %}
        {%- if 'is_long' in misfit %}
        has_run or contains(text, 'e-') or contains(text, 'E-') as is_long,
        {%- endif %}
        {%- if 'has_digits' in misfit %}
        text rlike '[0-9.]{16}' as has_digits,
        {%- endif %}
        {%- if '(halves' in misfit %}
        {{ dbt_cdc._indent(dbt_cdc._halves(), 8) }} as halves,
        {%- endif %}
        {{ misfit ~ ('\n            ' if misfit.splitlines()[-1] | length > 87 else ' ') }}as is_misfit
    from compared
    lateral view inline(case operation
        when 'INSERT' then array(struct(2, new as image, after_image as text))
        when 'DELETE' then array(struct(1, old as image, before_image as text))
        else array(struct(if(is_key_change, 1, 3), old as image, before_image as text),
            struct(if(is_key_change, 2, 4), new as image, after_image as text))
    end) images as row_operation, image, text
)
{%- endmacro %}


{#- The columns of `parsed` that hold the images of the relation `log`, as texts and read. What an operation has none
    of is an empty image; one that is missing makes both null. They are one document, so that anything behind an image
    is an error too. A bare NaN is let in only where a float needs the quoted one, for which the parser has the same
    switch. -#}
{% macro _read_images(instance) -%}
    {%- set fields, types = [], [] -%}
    {%- for column in instance.columns -%}
        {%- do types.append(dbt_cdc._parser_type(column)) -%}
        {%- do fields.append(dbt_cdc._literal(
            dbt_cdc._column(column.name) ~ ': ' ~ types[-1])[1:-1]
            ~ (">>, bad string'," if loop.last else '')) -%}
    {%- endfor -%}
log.before_image,
log.after_image,
from_json(
    concat('{"images":[',
    {%- if instance.before_image == 'partial' %}
        case log.operation when 'DELETE' then log.before_image when 'UPDATE'
            then coalesce(log.before_image, '{}') else '{}' end, ',',
    {%- else %} if(log.operation = 'INSERT', '{}', log.before_image), ',',
    {%- endif %}
        if(log.operation = 'DELETE', '{}', log.after_image), ']}'),
    'images array<struct<{{ dbt_cdc._flow(fields, ', ', 4, 29) }}
    map('columnNameOfCorruptRecord', 'bad', 'locale', '{{ dbt_cdc._number_locale() }}',
        'allowSingleQuotes', 'false' {{- ", 'allowNonNumericNumbers', 'false'" if 'double' not in types }})
) as json
{%- endmacro %}


{#- Key columns that a partial before image lacks come from the after image. -#}
{% macro _complete_before(instance) -%}
if(size(missing) > 0, named_struct(
    {%- for column in instance.columns %}
    {% if column.name in instance.index_columns -%}
    {{ dbt_cdc._chosen_field(column, 'missing', 'post', 'before') }}
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
    {%- set chosen = '(if(array_contains(' ~ listed ~ ', ' ~ name ~ '), ' ~ other ~ ', ' ~ image ~ ')).'
        ~ dbt_cdc._column(column.name) -%}
    {{ name ~ (',\n                ' if (name ~ chosen) | length > 84 else ', ') ~ chosen }}
{%- endmacro %}
