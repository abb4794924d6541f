{#- Why a record is bad, a second query says where the statement of read_images.sql has found a misfit. -#}

{#- The bad records of a window as (lsn, problem), the latter the whole error. -#}
{% macro _problems(instance, typed) -%}
    {%- set plan = dbt_cdc._invocation_cache().get('plans', {}).get(instance.name | lower, {}) -%}
    {%- set types, outgrown = [], dbt_cdc._outgrown_columns(plan) -%}
    {%- set keys = dbt_cdc._absent_keys(instance).keys() -%}
    {%- set absent = 'place in (' ~ dbt_cdc._literals(keys) ~ ') and not array_contains('
        ~ dbt_cdc._named_in_images() ~ ', place)' if keys -%}
    {%- for column in instance.columns -%}
        {%- do types.append(dbt_cdc._literal(column.name) ~ ', '
            ~ dbt_cdc._literal(column.data_type ~ dbt_cdc._spelling_of(column))) -%}
    {%- endfor -%}
{{ dbt_cdc._placed_misfits(instance, typed) }},

first_of_each as (
    select
        *,
        row_number() over (
            partition by lsn order by place is null and texts is not null, row_operation
        ) as number
    from placed
)

select
    lsn,
    concat(
        {{ dbt_cdc._literal('CDC 22859: bad log record of table ' ~ instance.table ~ ', column ') }},
        coalesce(place, concat(side, '_image')), ', lsn ', lsn, ': ',
        case
            when text is null then concat('the ', side, ' image is missing')
            when place is null then 'the image is no JSON object'
            {%- if instance.before_image == 'complete' %}
            when array_contains(missing, place)
                then 'the before image of this update lacks a column that its after image has'
            {%- endif %}
            {%- if absent %}
            when {{ absent }}
                then 'the record names no such column, which is of the key'
            {%- endif %}
            else concat(
                'the value ', coalesce(left(try_element_at(texts, place), 200), 'NULL'), ' of the ', side,
                ' image does not fit ', try_element_at(map(
                    {{ dbt_cdc._flow(types, ', ', 20) }}
                ), place)
            )
        end,
        case
            when text is null and side = 'before'
                {{- ' or array_contains(missing, place)' if instance.before_image == 'complete' }}
                then {{ dbt_cdc._literal(dbt_cdc._advice(dbt_cdc._complete_images_advice(instance.settings))) }}
            {%- if absent %}
            when {{ absent }}
                then {{ dbt_cdc._literal(dbt_cdc._advice(dbt_cdc._absent_key_advice(instance))) }}
            {%- endif %}
            {%- if outgrown %}
            when place in ({{ dbt_cdc._literals(outgrown.keys()) }})
                then {{ dbt_cdc._literal(', which the source has given another type'
                    ~ dbt_cdc._advice(dbt_cdc._second_instance_advice(instance))) }}
            {%- endif %}
            else {{ dbt_cdc._literal(dbt_cdc._advice(dbt_cdc._bad_record_advice())) }}
        end
    ) as problem
from first_of_each
where number = 1
{%- endmacro %}


{% macro _absent_key_advice(instance) %}
    {% do return(
        'nothing of this scan is published; where the source has renamed it, name it in this record as the records '
        ~ 'around it do (an UPDATE, sent by run_statement), or '
        ~ dbt_cdc._capture_anew_advice(dbt_cdc._disable_command(dict(instance, capture_instance=instance.name)))
        ~ dbt_cdc._advice_of_nulls()) %}
{% endmacro %}


{#- Names that images lack tell of a rename; of no more than NULLs where the images leave those out. -#}
{% macro _advice_of_nulls() %}
    {% do return('; where the images leave NULLs out, and nothing was renamed, let them have NULLs, as an update to '
        ~ 'NULL is lost without, or give vars: {cdc_report_new_columns: false}') %}
{% endmacro %}


{#- Stops with the first bad record of a window, if there is one. -#}
{% macro _raise_first_problem(instance, typed) -%}
select raise_error(problem) from (
    select problem from (
        {{ dbt_cdc._indent(dbt_cdc._problems(instance, typed), 8) }}
    ) order by lsn limit 1
)
{%- endmacro %}


{#- What an error says of a column's values beside its type. -#}
{% macro _spelling_of(column) %}
    {% set family = dbt_cdc._type_family(column.data_type) %}
    {% set infinity = ', which has no infinity (a string column takes it)' if family in ['date', 'timestamp'] %}
    {% if column.encodings %}
        {% set names = [] %}
        {% for encoding in column.encodings %}
            {% do names.append((encoding.name or 'plain text')
                ~ (' in ' ~ encoding.unit if encoding.unit) ~ (' and kept in ' ~ encoding.kept if encoding.kept)
                ~ (' of scale ' ~ encoding.scale if encoding.scale is not none and encoding.name == 'decimal')) %}
        {% endfor %}
        {% do return(', encoded as ' ~ names | join(' or ') ~ ' (meta.source_type, or types of the adapter)'
            ~ (infinity or '')
            ~ (', beside encoded ones a number of more than 15 digits in quotes only'
                if family == 'decimal' and 'plain text' in names else '')
            ~ (', in base64 (decimal.format=BASE64 of the converter), not as a number'
                if column.encodings | selectattr('name', 'equalto', 'decimal') | list else '')) %}
    {% elif family in ['string', 'text'] %}
        {% do return(', which takes a number like 1.50 or 1e5, also a nested one, as JSON strings only, '
            ~ 'and no half of a surrogate pair') %}
    {% endif %}
    {% do return(infinity or '') %}
{% endmacro %}
