{#- What a record's images say: whether they can be used, which columns they leave out. -#}

{#- Why a record cannot be used: a text; NULL where it can. -#}
{% macro _image_problem(instance) -%}
    {%- set names = dbt_cdc._names(instance.columns) -%}
    case
        when operation in ('INSERT', 'UPDATE') and after_image is null
            then {{ dbt_cdc._problem(instance, "'after_image'", "'the after image is missing'") }}
        when operation in ({{ "'DELETE'" if instance.before_image == 'partial'
            else "'UPDATE', 'DELETE'" }}) and before_image is null
            then {{ dbt_cdc._problem(instance, "'before_image'",
                "'the before image is missing'", dbt_cdc._complete_images_advice(instance.settings)) }}
        when parsed.malformed is not null or size(parsed.images) <> 2
            or parsed.images[0] is null or parsed.images[1] is null
            then {{ dbt_cdc._problem(instance,
                "case when json_object_keys(before_image) is null and before_image is not null "
                ~ "then 'before_image' else 'after_image' end", "'the image is no JSON object'") }}
        {%- for image in ['before', 'after'] %}
        {%- set place = 'array_position(zip_with(texts.' ~ image ~ ', fitted.' ~ image
            ~ ', (text, fitted) -> text is not null and fitted is null), true)' %}
        when {{ place }} > 0
            then {{ dbt_cdc._indent(dbt_cdc._let('place', place, dbt_cdc._problem(instance,
                names ~ '[place - 1]',
                "concat('the value ', left(texts." ~ image ~ "[place - 1], 200), ' of the " ~ image
                ~ " image does not fit ', " ~ dbt_cdc._names(instance.columns, 'data_type')
                ~ '[place - 1])')), 12) }}
        {%- endfor %}
        {%- if instance.before_image == 'complete' %}
        when array_size(array_intersect({{ names }}, keys.before_lacks)) > 0
            then {{ dbt_cdc._problem(instance, 'array_intersect(' ~ names ~ ', keys.before_lacks)[0]',
                "'the before image of this update lacks a column that its after image has'",
                dbt_cdc._complete_images_advice(instance.settings)) }}
        {%- endif %}
    end
{%- endmacro %}


{#- `column_name` and `problem` are SQL. -#}
{% macro _problem(instance, column_name, problem, advice=none) -%}
    {{- dbt_cdc._bad_record_text(
        "concat('table ', " ~ dbt_cdc._literal(instance.table) ~ ", ', column ', " ~ column_name
        ~ ", ', lsn ', lsn)", problem, advice) -}}
{%- endmacro %}


{% macro _names(columns, attribute='name') -%}
    array(
        {%- for column in columns -%}
        {{ dbt_cdc._literal(column[attribute]) }}{{ ', ' if not loop.last }}
        {%- endfor -%}
    )
{%- endmacro %}


{#- The keys of an update's images. Only where a column has no value do an absent key and a null have
    to be told apart. -#}
{% macro _listed_keys() -%}
    case
        when operation = 'UPDATE' and (
            exists(texts.before, text -> text is null) or exists(texts.after, text -> text is null)
        ) then {{ dbt_cdc._indent(dbt_cdc._of_both_images(
            'coalesce(json_object_keys(before_image), cast(array() as array<string>))',
            'coalesce(json_object_keys(after_image), cast(array() as array<string>))'), 8) }}
    end
{%- endmacro %}


{#- Keys that one image of an update has and the other has not. -#}
{% macro _lacking_keys() -%}
    named_struct(
        'before_lacks', array_except(listed.after, listed.before),
        'after_lacks', array_except(listed.before, listed.after)
    )
{%- endmacro %}


{#- Key columns that a partial before image lacks come from the after image. -#}
{% macro _complete_before(instance) -%}
    {%- if instance.before_image == 'partial' and instance.index_columns -%}
    {%- set names = dbt_cdc._names(instance.columns) -%}
    transform(fitted.before, (text, i) -> case
        when {{ names }}[i] in (
            {%- for name in instance.index_columns -%}
            {{ dbt_cdc._literal(name) }}{{ ', ' if not loop.last }}
            {%- endfor -%}
        ) and array_contains(keys.before_lacks, {{ names }}[i]) then fitted.after[i]
        else text
    end)
    {%- else -%}
    fitted.before
    {%- endif -%}
{%- endmacro %}


{#- Columns that the after image lacks are unchanged: large values are not logged again. -#}
{% macro _complete_after(columns) -%}
    transform(fitted.after, (text, i) -> case
        when array_contains(keys.after_lacks, {{ dbt_cdc._names(columns) }}[i]) then fitted.before[i]
        else text
    end)
{%- endmacro %}


{#- The value of each column out of its text. -#}
{% macro _column_values(columns) -%}
    {%- for image in ['before', 'after'] %}
    {%- for column in columns %}
    {{- dbt_cdc._text_value('images.' ~ image ~ '[' ~ loop.index0 ~ ']', column.data_type) }} as {# -#}
    {{ image }}_{{ loop.index }},
    {% endfor %}
    {%- endfor -%}
{%- endmacro %}


{#- The operation, or the error that stops the scan. -#}
{% macro _checked_operation() -%}
    case
        when images.problem is not null or {{ dbt_cdc._never() }} then raise_error(images.problem)
        else operation
    end
{%- endmacro %}


{#- A condition that is always false. Its lambda keeps Spark from compiling the whole stage into one
    method, which Java would not optimise beyond 8000 bytes: twice the time (docs/decisions/0003). -#}
{% macro _never() -%}
    exists(array(lsn), lsn -> lsn is null)
{%- endmacro %}
