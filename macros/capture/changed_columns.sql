{#- What a record changes: key, mask, rows. Its values are columns before_1 ... and after_1 ..., or
    fields of structs `before` and `after`. -#}

{% macro _is_same(column, place, is_struct) -%}
    {%- set name = dbt_cdc._column(column.name) -%}
    {%- if is_struct and dbt_cdc._type_family(column.data_type) == 'float' -%}
    {{ dbt_cdc._text_value('before.' ~ name, column.data_type) }} <=> {# -#}
    {{ dbt_cdc._text_value('after.' ~ name, column.data_type) }}
    {%- elif is_struct -%}
    before.{{ name }} <=> after.{{ name }}
    {%- else -%}
    before_{{ place }} <=> after_{{ place }}
    {%- endif -%}
{%- endmacro %}


{% macro _is_key_change(instance, is_struct=false) -%}
    {%- set same = [] -%}
    {%- for column in instance.columns if column.name in instance.index_columns -%}
        {%- do same.append(dbt_cdc._is_same(
            column, instance.columns.index(column) + 1, is_struct)) -%}
    {%- endfor -%}
    {{ "operation = 'UPDATE' and not (" ~ same | join(' and ') ~ ')' if same else 'false' }}
{%- endmacro %}


{#- SQL Server's mask: ordinal 1 is the lowest bit of the last byte. Kept 56 bits at a time: mask_1
    is the lowest. A column of which a partial image does not tell the old value may have changed. -#}
{% macro _mask_parts(instance, is_struct=false) -%}
    {%- for chunk in instance.columns | batch(56) %}
    {%- set first = loop.index0 * 56 %}
    if(operation = 'UPDATE', cast(0 as bigint)
        {%- for column in chunk %}
        + if({{ dbt_cdc._is_same(column, first + loop.index, is_struct) }}
            {%- if instance.before_image == 'partial'
                and column.name not in instance.index_columns %}
            and not coalesce(array_contains(unknown, {{ dbt_cdc._literal(column.name) }}), false)
            {%- endif %}, 0, {{ 2 ** (loop.index - 1) }})
        {%- endfor %}, 0) as mask_{{ loop.index }},
    {% endfor -%}
{%- endmacro %}


{#- All bits for INSERT and DELETE. -#}
{% macro _mask_text(columns) -%}
    {%- set n = columns | length -%}
    case
        when row_operation in (1, 2)
            then '0x{{ ('%0' ~ ((n + 7) // 8) * 2 ~ 'X') | format(2 ** n - 1) }}'
        else concat('0x'
            {%- for chunk in columns | batch(56) | list | reverse -%}
            , lpad(hex(mask_{{ loop.revindex }}), {{ ((chunk | length + 7) // 8) * 2 }}, '0')
            {%- endfor -%}
        )
    end
{%- endmacro %}


{#- Which rows a record leaves: an update of the key a delete and an insert, an update that changes
    nothing none, but `unchanged`. -#}
{% macro _rows_of_record(columns, deleted, inserted, rekeyed, updated, unchanged=none) -%}
    case
        when operation = 'INSERT' then {{ inserted }}
        when operation = 'DELETE' then {{ deleted }}
        when is_key_change then {{ rekeyed }}
        when {% for chunk in columns | batch(56) -%}
            mask_{{ loop.index }} <> 0{{ ' or ' if not loop.last }}
        {%- endfor %} then {{ updated }}
        {%- if unchanged %}
        else {{ unchanged }}
        {%- endif %}
    end
{%- endmacro %}
