{#- The number that an LSN is: a SQL expression of type decimal(26,0), for differences. -#}
{% macro lsn_number(lsn) -%}
    (
        cast(conv(substr({{ lsn }}, 3, 10), 16, 10) as decimal(13, 0)) * 1099511627776
        + cast(conv(substr({{ lsn }}, 13, 10), 16, 10) as decimal(13, 0))
    )
{%- endmacro %}
