{#- What an update changes: key, mask. Its images are the structs `old` and `new`, made of what was read. -#}

{#- For each column, whether it has a value in both images: else their keys have to be looked at. -#}
{% macro _null_tests(instance) %}
    {% set tests = [] %}
    {% for column in dbt_cdc._logged_columns(instance.columns) %}
        {% set name = dbt_cdc._column(column.name) %}
        {% do tests.append('isnull(' ~ dbt_cdc._logged_before(instance) ~ '.' ~ name ~ ' = post.' ~ name ~ ')') %}
    {% endfor %}
    {% do return(tests or ['false']) %}
{% endmacro %}


{#- Whether the mask has a bit of the key. -#}
{% macro _is_key_change(instance) -%}
    {%- set tests = [] -%}
    {%- for chunk in instance.columns | batch(56) -%}
        {%- set bits = [] -%}
        {%- for column in chunk if column.name in instance.index_columns -%}
            {%- do bits.append(2 ** chunk.index(column)) -%}
        {%- endfor -%}
        {%- do tests.append('mask_' ~ loop.index ~ ' & ' ~ bits | sum ~ ' <> 0') if bits -%}
    {%- endfor -%}
    {{ tests | join(' or ') or 'false' }}
{%- endmacro %}


{#- SQL Server's mask: ordinal 1 is the lowest bit of the last byte. Kept 56 bits at a time: mask_1
    is the lowest. A column of which a partial image does not tell the old value may have changed. -#}
{% macro _mask_parts(instance) -%}
    {%- for chunk in instance.columns | batch(56) %}
    {%- set bits = [] %}
    {%- for column in chunk if not dbt_cdc._is_computed(column) %}
        {%- set same = dbt_cdc._is_same(column) %}
        {%- if instance.before_image == 'partial' and column.name not in instance.index_columns %}
            {%- set same = 'not coalesce(array_contains(missing, '
                ~ dbt_cdc._literal(column.name) ~ '), false)\n    and (' ~ same ~ ')' %}
        {%- endif %}
        {%- do bits.append('if(' ~ same ~ ', ' ~ ('0' if bits else '0L') ~ ', ' ~ 2 ** chunk.index(column) ~ ')') %}
    {%- endfor %}
        {{ dbt_cdc._flow(bits or ['0L'], ' + ', 8) }} as mask_{{ loop.index }},
    {%- endfor -%}
{%- endmacro %}


{% macro _is_changed(columns) -%}
    {%- for chunk in columns | batch(56) -%}
        mask_{{ loop.index }} <> 0{{ ' or ' if not loop.last }}
    {%- endfor -%}
{%- endmacro %}


{#- All bits for INSERT and DELETE. -#}
{% macro _mask_text(columns) -%}
    {%- set n = columns | length -%}
    {%- set all_bits = '0x' ~ ('%0' ~ ((n + 7) // 8) * 2 ~ 'X') | format(2 ** n - 1) -%}
    if(row_operation < 3, '{{ all_bits }}', concat('0x'
        {%- for chunk in columns | batch(56) | list | reverse -%}
        , lpad(hex(mask_{{ loop.revindex }}), {{ ((chunk | length + 7) // 8) * 2 }}, '0')
        {%- endfor -%}
    ))
{%- endmacro %}
