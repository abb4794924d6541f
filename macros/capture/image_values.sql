{#- Expressions over one log record's two images; see _change_rows for where each stands. -#}

{#- Both images in one parse: {"images": [before, after]}. -#}
{% macro _parse_images(columns) -%}
    {%- set fields = [] -%}
    {%- for column in columns -%}
        {%- do fields.append(dbt_cdc._column(column.name) ~ ': string') -%}
    {%- endfor -%}
    from_json(
        concat(
            '{"images":[', coalesce({{ dbt_cdc._exact_image('before_image', columns) }}, '{}'),
            ',', coalesce({{ dbt_cdc._exact_image('after_image', columns) }}, '{}'), ']}'
        ),
        {{ dbt_cdc._literal(
            'images array<struct<' ~ fields | join(', ') ~ '>>, malformed string') }},
        map(
            'columnNameOfCorruptRecord', 'malformed',
            'allowSingleQuotes', 'false',
            'allowNonNumericNumbers', 'false'
        )
    )
{%- endmacro %}


{#- Why the images cannot be used at all, as (column_name, text); NULL where they can. -#}
{% macro _image_problem(instance) -%}
    case
        when operation in ('INSERT', 'UPDATE') and after_image is null
            then named_struct('column_name', 'after_image', 'text', 'the after image is missing')
        when operation in ({{ "'DELETE'" if instance.before_image == 'partial'
            else "'UPDATE', 'DELETE'" }}) and before_image is null
            then named_struct('column_name', 'before_image', 'text', {{ dbt_cdc._literal(
                'the before image is missing: ' ~ dbt_cdc._complete_images_advice()) }})
        when json.malformed is not null or size(json.images) <> 2
            or json.images[0] is null or json.images[1] is null
            then named_struct(
                'column_name', case
                    when json_object_keys(before_image) is null and before_image is not null
                        then 'before_image'
                    else 'after_image'
                end,
                'text', 'the image is no JSON object'
            )
    end
{%- endmacro %}


{% macro _read_image(text, columns) -%}
    named_struct(
        {%- for column in columns %}
        {{ dbt_cdc._literal(column.name) }}, {{ dbt_cdc._read_value(
            text ~ '.' ~ dbt_cdc._column(column.name), column.data_type) }}
        {{- ',' if not loop.last }}
        {%- endfor %}
    )
{%- endmacro %}


{#- The keys of both images of an update, looked up only where one has a value and the other none:
    there an absent key and a null differ. -#}
{% macro _keys_where_needed(columns) -%}
    case when operation = 'UPDATE' and (
        {%- for column in columns %}
        (before_text.{{ dbt_cdc._column(column.name) }} is null)
        <> (after_text.{{ dbt_cdc._column(column.name) }} is null)
        {{- ' or' if not loop.last }}
        {%- endfor %}
    ) then named_struct(
        'before', coalesce(json_object_keys(before_image), cast(array() as array<string>)),
        'after', json_object_keys(after_image)
    ) end
{%- endmacro %}


{% macro _is_absent(image, other, column) -%}
    ({{ image }}_text.{{ dbt_cdc._column(column.name) }} is null
    and {{ other }}_text.{{ dbt_cdc._column(column.name) }} is not null
    and not array_contains(image_keys.{{ image }}, {{ dbt_cdc._literal(column.name) }}))
{%- endmacro %}


{#- The operation, or the error that stops the scan. -#}
{% macro _checked_operation(instance) -%}
    {%- set columns = instance.columns -%}
    case
        when image_problem is not null then {{ dbt_cdc._indent(
            dbt_cdc._raise_first_problem(instance, 'array(image_problem)'), 12) }}
        when
            {%- for column in columns %}
            {%- set name = dbt_cdc._column(column.name) %}
            {%- if dbt_cdc._type_family(column.data_type) != 'string' %}
            (before.{{ name }} is null and before_text.{{ name }} is not null)
            or (after.{{ name }} is null and after_text.{{ name }} is not null) or
            {%- endif %}
            {%- endfor %}
            false
            then {{ dbt_cdc._indent(dbt_cdc._raise_first_problem(
                instance, dbt_cdc._misfits(columns)), 12) }}
        {%- if instance.before_image == 'complete' %}
        when image_keys is not null and (
            {%- for column in columns %}
            {{ dbt_cdc._indent(dbt_cdc._is_absent('before', 'after', column), 12) }}
            {{- ' or' if not loop.last }}
            {%- endfor %}
        )
            then {{ dbt_cdc._indent(dbt_cdc._raise_first_problem(
                instance, dbt_cdc._absentees(columns), dbt_cdc._complete_images_advice()), 12) }}
        {%- endif %}
        else operation
    end
{%- endmacro %}


{#- Raises the first of an array of (column_name, problem) whose problem is not null. -#}
{% macro _raise_first_problem(instance, problems, advice=none) -%}
    element_at(transform(
        filter({{ dbt_cdc._indent(problems, 8) }}, problem -> problem.text is not null),
        problem -> {{ dbt_cdc._raise_bad_record(
            "concat('table ', " ~ dbt_cdc._literal(instance.table)
            ~ ", ', column ', problem.column_name, ', lsn ', lsn)", 'problem.text', advice) }}
    ), 1)
{%- endmacro %}


{% macro _misfits(columns) -%}
    array(
        {%- for column in columns %}
        {%- set name = dbt_cdc._column(column.name) %}
        named_struct('column_name', {{ dbt_cdc._literal(column.name) }}, 'text', case
            when before.{{ name }} is null and before_text.{{ name }} is not null
                then concat('the value ', left(before_text.{{ name }}, 200), {{ dbt_cdc._literal(
                    ' of the before image does not fit ' ~ column.data_type) }})
            when after.{{ name }} is null and after_text.{{ name }} is not null
                then concat('the value ', left(after_text.{{ name }}, 200), {{ dbt_cdc._literal(
                    ' of the after image does not fit ' ~ column.data_type) }})
        end)
        {{- ',' if not loop.last }}
        {%- endfor %}
    )
{%- endmacro %}


{% macro _absentees(columns) -%}
    array(
        {%- for column in columns %}
        named_struct('column_name', {{ dbt_cdc._literal(column.name) }}, 'text', case
            when {{ dbt_cdc._is_absent('before', 'after', column) }}
                then 'the before image of this update lacks a column that its after image has'
        end)
        {{- ',' if not loop.last }}
        {%- endfor %}
    )
{%- endmacro %}


{#- Key columns that a partial before image lacks come from the after image. -#}
{% macro _complete_before(instance) -%}
    {%- if instance.before_image == 'partial' and instance.index_columns -%}
    case when image_keys is null then before else named_struct(
        {%- for column in instance.columns %}
        {%- set name = dbt_cdc._column(column.name) %}
        {{ dbt_cdc._literal(column.name) }}, {% if column.name in instance.index_columns -%}
        case when {{ dbt_cdc._is_absent('before', 'after', column) }} then after.{{ name }}
            else before.{{ name }} end
        {%- else -%} before.{{ name }} {%- endif %}
        {{- ',' if not loop.last }}
        {%- endfor %}
    ) end
    {%- else -%}
    before
    {%- endif -%}
{%- endmacro %}


{#- Columns that the after image lacks are unchanged: large values are not logged again. -#}
{% macro _complete_after(columns) -%}
    case when image_keys is null then after else named_struct(
        {%- for column in columns %}
        {%- set name = dbt_cdc._column(column.name) %}
        {{ dbt_cdc._literal(column.name) }},
        case when {{ dbt_cdc._is_absent('after', 'before', column) }} then before.{{ name }}
            else after.{{ name }} end
        {{- ',' if not loop.last }}
        {%- endfor %}
    ) end
{%- endmacro %}


{#- Ordinals of the columns whose old value a partial before image does not tell. -#}
{% macro _unknown_columns(instance) -%}
    {%- if instance.before_image == 'partial' -%}
    case when image_keys is not null then array_compact(array(
        {%- for column in instance.columns %}
        case when {{ dbt_cdc._is_absent('before', 'after', column) }}
            {%- if column.name in instance.index_columns %} and false {%- endif %}
            then {{ loop.index }} end
        {{- ',' if not loop.last }}
        {%- endfor %}
    )) end
    {%- else -%}
    cast(null as array<int>)
    {%- endif -%}
{%- endmacro %}


{% macro _is_key_change(instance) -%}
    {%- if instance.index_columns -%}
    operation = 'UPDATE' and (
        {%- for name in instance.index_columns %}
        not (before.{{ dbt_cdc._column(name) }} <=> after.{{ dbt_cdc._column(name) }})
        {{- ' or' if not loop.last }}
        {%- endfor %}
    )
    {%- else -%}
    false
    {%- endif -%}
{%- endmacro %}


{#- SQL Server's mask: ordinal 1 is the lowest bit of the last byte. Written 7 bytes at a time. -#}
{% macro _update_mask(instance) -%}
    concat('0x'
        {%- for chunk in instance.columns | batch(56) | list | reverse %}
        {%- set first = (loop.length - loop.index) * 56 %}
        , lpad(hex(cast(0 as bigint)
            {%- for column in chunk %}
            {%- set name = dbt_cdc._column(column.name) %}
            + if(before.{{ name }} <=> after.{{ name }}
                {%- if instance.before_image == 'partial' %}
                and not coalesce(array_contains(unknown_columns, {{ first + loop.index }}), false)
                {%- endif %}, 0, {{ 2 ** (loop.index - 1) }})
            {%- endfor %}
        ), {{ ((chunk | length + 7) // 8) * 2 }}, '0')
        {%- endfor %}
    )
{%- endmacro %}


{% macro _all_bits(columns) -%}
    {%- set n = columns | length -%}
    0x{{ ('%0' ~ ((n + 7) // 8) * 2 ~ 'X') | format(2 ** n - 1) }}
{%- endmacro %}


{#- None, one or two rows of a record: inline() of an array. -#}
{% macro _rows_of_record(columns) -%}
    {%- set all_bits = "'" ~ dbt_cdc._all_bits(columns) ~ "'" -%}
    inline(case
        when operation = 'INSERT' then array({{ dbt_cdc._change_row(2, all_bits, 'after') }})
        when operation = 'DELETE' then array({{ dbt_cdc._change_row(1, all_bits, 'before') }})
        when is_key_change then array(
            {{ dbt_cdc._change_row(1, all_bits, 'before') }},
            {{ dbt_cdc._change_row(2, all_bits, 'after') }}
        )
        when update_mask rlike '[^0x]' then array(
            {{ dbt_cdc._change_row(3, 'update_mask', 'before') }},
            {{ dbt_cdc._change_row(4, 'update_mask', 'after') }}
        )
    end) as (operation, update_mask, image)
{%- endmacro %}


{% macro _change_row(operation, mask, image) -%}
    named_struct('operation', {{ operation }}, 'mask', {{ mask }}, 'image', {{ image }})
{%- endmacro %}
