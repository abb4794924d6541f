{#- The value of a column out of `image`, a struct of what the parser has read; NULL where it has none. -#}
{% macro _value(column, image) -%}
    {%- set read = image ~ '.' ~ dbt_cdc._column(column.name) -%}
    {%- if dbt_cdc._is_computed(column) -%} cast(null as {{ column.data_type }})
    {%- elif not column.encodings -%} {{ dbt_cdc._plain_value(column, read) }}
    {%- elif column.encodings | length == 1 -%}
    {{ dbt_cdc._decoded_value(column, column.encodings[0], read) }}
    {%- else -%}
    case
        {%- for encoding in column.encodings %}
        when {{ dbt_cdc._has_encoding(encoding) }} then {{ dbt_cdc._decoded_value(column, encoding, read) }}
        {%- endfor %}
    end
    {%- endif -%}
{%- endmacro %}


{#- Whether a column has the same value in `old` and `new`. Encoded texts are mostly equal as they stand. -#}
{% macro _is_same(column) -%}
    {%- set old, new = dbt_cdc._value(column, 'old'), dbt_cdc._value(column, 'new') -%}
    {%- set name = dbt_cdc._column(column.name) -%}
    {%- if dbt_cdc._is_computed(column) -%} true
    {%- elif column.encodings | length == 1 and column.encodings[0].get('scale') is not none -%}
    old.{{ name }} <=> new.{{ name }}
    {%- elif column.encodings -%}
    old.{{ name }} <=> new.{{ name }}
    or {{ old }} <=> {{ new }}
    {%- elif dbt_cdc._type_family(column.data_type) in ['integer', 'decimal'] -%}
    old.{{ name }} <=> new.{{ name }}
    {%- else -%} {{ old }} <=> {{ new }}
    {%- endif -%}
{%- endmacro %}
