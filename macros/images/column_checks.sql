{#- What shows that a value is not what the image says: the parser rounds some, and some it cannot tell. -#}

{#- Whether a value is not what the image says, or the image is none. -#}
{% macro _is_misfit(instance) -%}
    {%- set long, tests = [dbt_cdc._is_no_image(instance)], [] -%}
    {%- do tests.append('size(missing) > 0') if instance.before_image == 'complete' -%}
    {%- for column in instance.columns -%}
        {%- for misfit in dbt_cdc._misfits(column) -%}
            {%- do (long if '\n' in misfit else tests).append(misfit) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- do long.extend(dbt_cdc._absent_keys(instance).values()) -%}
    {{ dbt_cdc._flow(long + tests, ' or ', 8) }}
{%- endmacro %}


{#- Of a misfit, the name of the column, or an empty text where the image is none. -#}
{% macro _misfit(instance) -%}
case
    when {{ dbt_cdc._is_no_image(instance) }} then ''
    {%- if instance.before_image == 'complete' %}
    when size(missing) > 0 then get(missing, 0)
    {%- endif %}
    {%- for column in instance.columns %}
        {%- for misfit in dbt_cdc._misfits(column) %}
    when {{ dbt_cdc._indent(misfit, 4) }} then {{ dbt_cdc._literal(column.name) }}
        {%- endfor %}
    {%- endfor %}
    {%- for name, is_absent in dbt_cdc._absent_keys(instance).items() %}
    when {{ dbt_cdc._indent(is_absent, 4) }} then {{ dbt_cdc._literal(name) }}
    {%- endfor %}
end
{%- endmacro %}


{#- By column of the key: whether it is NULL because neither image of the record names it, as where the source has
    renamed it. A NULL that an image has may be one of a unique key. Of an instance that a scan has planned. -#}
{% macro _absent_keys(instance) %}
    {% set tests = {} %}
    {% for name in instance.index_columns if instance.needs_key %}
        {% do tests.update({name: 'value.' ~ dbt_cdc._column(name) ~ ' is null\n    and not array_contains('
            ~ dbt_cdc._named_in_images() ~ ', ' ~ dbt_cdc._literal(name) ~ ')'}) %}
    {% endfor %}
    {% do return(tests) %}
{% endmacro %}


{#- The names in both images of a record. -#}
{% macro _named_in_images() -%}
    array_union(json_object_keys(coalesce(before_image, '{}')),
        json_object_keys(coalesce(after_image, '{}')))
{%- endmacro %}


{% macro _is_no_image(instance) -%}
{{ dbt_cdc._logged_before(instance) }} is null or post is null or json.bad is not null or size(json.images) <> 2
{%- endmacro %}


{#- Whether `value`, made of what the parser has read of `image`, is not what `text` says: a list of
    conditions, of which one holds; empty where it always is. -#}
{% macro _misfits(column) %}
    {% set read, value = 'image.' ~ dbt_cdc._column(column.name), 'value.' ~ dbt_cdc._column(column.name) %}
    {% do return([]) if dbt_cdc._is_computed(column) %}
    {% set misfits = dbt_cdc._decoded_misfits(column, read, value) if column.encodings
        else dbt_cdc._plain_misfits(column, read, value) %}
    {% do misfits.append('char_length(' ~ value ~ ') > ' ~ dbt_cdc._type_size(column.data_type))
        if dbt_cdc._type_family(column.data_type) == 'text' %}
    {% do return(misfits) %}
{% endmacro %}


{#- The keys whose texts have half a surrogate pair, which is no character: the parser reads a question mark. -#}
{% macro _halves() -%}
if(contains(text, '\\u'), regexp_extract_all(text,
    concat({{ dbt_cdc._literal('"((?:[^"\\\\]|\\\\.)*+)"\\s*:\\s*"') }},
    {{ dbt_cdc._literal('(?i:[^"\\\\]|\\\\(?!ud[89a-f]).|\\\\ud[89ab]..\\\\ud[c-f])*+\\\\') }})), null)
{%- endmacro %}


{#- True for rows that `condition` takes, or the error that stops the scan; why a record is bad, `_problems`
    tells then. -#}
{% macro _checked(instance, condition) -%}
if(is_misfit, raise_error(concat(
    {{ dbt_cdc._literal('CDC 22859: bad log record of table ' ~ instance.table ~ ', lsn ') }}, lsn,
    {{ dbt_cdc._literal(dbt_cdc._error_page()) }})), {{ condition }})
{%- endmacro %}
