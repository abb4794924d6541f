{#- How the value of a column is read, by its type's family: the type that the JSON parser gives, and the
    value made of it. What shows that it is not what the image says: column_checks.sql. -#}

{#- Decimals with room for more digits than the column has; what the parser does not know as texts. -#}
{% macro _parser_type(column) %}
    {% set data_type = column.data_type | lower | trim %}
    {% set family = dbt_cdc._type_family(data_type) %}
    {% if column.encodings or dbt_cdc._is_computed(column) %}
        {% do return('string') %}
    {% elif family == 'integer' %}
        {% do return('bigint' if data_type in ['bigint', 'long'] else 'int') %}
    {% elif family == 'float' %}
        {% do return('double') %}
    {% elif family == 'decimal' %}
        {% do return('decimal(38,' ~ dbt_cdc._parser_scale(data_type) ~ ')') %}
    {% endif %}
    {% do return('boolean' if family == 'boolean' else 'string') %}
{% endmacro %}


{#- The places behind the point that the parser keeps: 18, which leaves 20 before it, where the column has
    at most 10; more or fewer where it needs them. -#}
{% macro _parser_scale(data_type) %}
    {% set precision, scale = dbt_cdc._type_size(data_type) or 10, dbt_cdc._type_size(data_type, 1) %}
    {% do return(18 if precision - scale <= 20 and scale <= 10 else 38 - (precision - scale)) %}
{% endmacro %}


{% macro _plain_value(column, read) -%}
    {%- set data_type = column.data_type | lower | trim -%}
    {%- set family = dbt_cdc._type_family(data_type) -%}
    {%- if dbt_cdc._is_char(data_type) -%} rtrim({{ read }})
    {%- elif family in ['string', 'text'] or data_type == dbt_cdc._parser_type(column) -%} {{ read }}
    {%- elif family == 'binary' -%} try_to_binary({{ read }}, 'base64')
    {%- elif data_type == 'timestamp_ntz' -%} cast(try_cast({{ read }} as timestamp) as timestamp_ntz)
    {%- else -%} try_cast({{ read }} as {{ data_type }})
    {%- endif -%}
{%- endmacro %}
