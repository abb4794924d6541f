{#- SQL: whether a column id (a number, or SQL) is in sys_change_columns (SQL); NULL means all
    columns. -#}
{% macro change_tracking_is_column_in_mask(column_id, mask) -%}
    {%- if mask is none -%}
    true
    {%- elif column_id is none -%}
    cast(null as boolean)
    {%- else -%}
    {%- set bytes -%}
        {%- if column_id is number -%}
        '{{ dbt_cdc._column_id_bytes(column_id) }}'
        {%- else -%}
        concat({% for shift in [0, 8, 16, 24] -%}
            lpad(hex(shiftright(cast({{ column_id }} as int), {{ shift }}) & 255), 2, '0')
            {{- ', ' if not loop.last }}
        {%- endfor %})
        {%- endif -%}
    {%- endset -%}
    ({{ mask }} is null or upper({{ mask }}) rlike concat('^0X.{8}(.{8})*', {{ bytes }}))
    {%- endif -%}
{%- endmacro %}
