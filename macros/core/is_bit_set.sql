{#- SQL: whether the bit of an ordinal (a number, or SQL) is set in an update mask (SQL); NULL where one
    of them is NULL, false outside the mask. -#}
{% macro is_bit_set(ordinal, mask) -%}
    {%- if ordinal is none or mask is none -%}
    cast(null as boolean)
    {%- else -%}
    {%- set place = ordinal if ordinal is number else '(' ~ ordinal ~ ')' -%}
    case
        when {{ place }} is null or {{ mask }} is null then null
        when unhex(substr({{ mask }}, 3)) is null or lower(substr({{ mask }}, 1, 2)) <> '0x'
            then cast(raise_error(concat('CDC 313: is_bit_set: \'', {{ mask }},
                {{ dbt_cdc._literal("' is not an update mask"
                    ~ dbt_cdc._advice('give 0x and two hexadecimal digits a byte')) }})) as boolean)
        when {{ place }} < 1 or {{ place }} > 4 * (length({{ mask }}) - 2) then false
        else instr('123456789ABCDEF', upper(substr(
            {{ mask }}, length({{ mask }}) - cast(({{ place }} - 1) div 4 as int), 1
        ))) & shiftleft(1, cast(({{ place }} - 1) % 4 as int)) <> 0
    end
    {%- endif -%}
{%- endmacro %}


{#- The same of a mask that a change table holds, of so many columns: one digit decides. -#}
{% macro _has_bit(ordinal, mask, columns) -%}
    {%- set digit = ((columns + 7) // 8) * 2 - (ordinal - 1) // 4 + 2 -%}
    instr('123456789ABCDEF', substr({{ mask }}, {{ digit }}, 1)) & {{ 2 ** ((ordinal - 1) % 4) }} <> 0
{%- endmacro %}
