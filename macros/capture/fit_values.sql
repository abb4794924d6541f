{#- Texts of JSON values brought into a form that a cast reads without loss; NULL where they do not
    fit the type. -#}

{#- By the type's family. -#}
{% macro _fit(text, data_type) -%}
    {{- dbt_cdc['_fit_' ~ dbt_cdc._type_family(data_type)](text, data_type) -}}
{%- endmacro %}


{#- The value of a fitted text. -#}
{% macro _text_value(text, data_type) -%}
    {%- set family = dbt_cdc._type_family(data_type) -%}
    {%- if family in ['string', 'text'] -%} {{ text }}
    {%- elif family == 'binary' -%} try_to_binary({{ text }}, 'base64')
    {%- else -%} try_cast({{ text }} as {{ data_type | lower }})
    {%- endif -%}
{%- endmacro %}


{% macro _fit_boolean(text, data_type) -%} {{ text }} {%- endmacro %}


{#- Spark reads base64 that was cut off, too. -#}
{% macro _fit_binary(text, data_type) -%}
    case when length({{ text }}) % 4 = 0 and {{ text }} rlike '^[A-Za-z0-9+/]*={0,2}$' then {{ text }} end
{%- endmacro %}


{#- Only blanks are cut off a text that is too long. -#}
{% macro _fit_text(text, data_type) -%}
    {%- set value = 'rtrim(' ~ text ~ ')' if data_type.startswith('char') else text -%}
    case when char_length({{ value }}) <= {{ dbt_cdc._type_size(data_type) }} then {{ value }} end
{%- endmacro %}


{#- 12, "12", 12.0 and 1.2e1; nothing with a fraction. -#}
{% macro _fit_integer(text, data_type) -%}
    case
        when {{ text }} rlike '^[-+]?[0-9]+$'
            then {{ text }}
        else cast(try_cast({{ dbt_cdc._indent(dbt_cdc._fit_decimal(text, 'decimal(38,0)'), 8) }}
            as decimal(38, 0)) as string)
    end
{%- endmacro %}


{#- Digits that the scale would lose do not fit; zeros at the end do. -#}
{% macro _fit_decimal(text, data_type) -%}
    {%- set digits = "replace(regexp_extract(" ~ text ~ ", '^[-+]?([0-9.]*)', 1), '.', '')" -%}
    case
        when not {{ text }} rlike
            '^[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]{1,3})?$'
            then null
        when {{ digits }} rlike '^0*$'
            then '0'
        when length(regexp_extract({{ text }}, '[.]([0-9]*)', 1))
            - coalesce(try_cast(regexp_extract({{ text }}, '[eE](.*)$', 1) as int), 0)
            - length(regexp_extract({{ digits }}, '0*$', 0)) <= {{ dbt_cdc._type_size(data_type, 1) }}
            then {{ text }}
    end
{%- endmacro %}


{#- Finite text gives a finite number; NaN and the infinities are written out. -#}
{% macro _fit_float(text, data_type) -%}
    case
        when substr({{ text }}, -1) <= '9'
            then case when abs(try_cast({{ text }} as {{ data_type }}))
                < cast('Infinity' as {{ data_type }}) then {{ text }} end
        when lower({{ text }}) in ('nan', 'infinity', '+infinity', '-infinity', 'inf', '-inf', '+inf')
            then {{ text }}
    end
{%- endmacro %}


{% macro _fit_date(text, data_type) -%}
    case
        when {{ text }} rlike '^[-+]?[0-9]{4,7}-[0-9]{2}-[0-9]{2}([T ]00:00(:00([.]0*)?)?)?Z?$'
            then regexp_extract({{ text }}, '^[^T Z]*', 0)
    end
{%- endmacro %}


{#- Text without a zone is UTC, as the session is; a time of day alone is no timestamp. -#}
{% macro _fit_timestamp(text, data_type) -%}
    case
        when substr({{ text }}, 5, 1) = '-' or {{ text }} rlike '^[-+]?[0-9]{4,7}-[0-9]{2}-[0-9]{2}'
            then {{ text }}
    end
{%- endmacro %}
