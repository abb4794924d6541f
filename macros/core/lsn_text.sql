{% macro _zero_lsn() %}
    {% do return('0x00000000000000000000') %}
{% endmacro %}


{#- In Java `$` is also before a line break at the end. -#}
{% macro _lsn_pattern() %}
    {% do return('(?s)^0x[0-9A-F]{20}(?!.)') %}
{% endmacro %}


{#- What was given for an LSN, as text: without quotes, YAML reads one as a number. -#}
{% macro _lsn_text(lsn) %}
    {% do return('0x%020X' | format(lsn) if lsn is integer else lsn | string | trim) %}
{% endmacro %}


{#- An LSN in any letter case -> 0x and 20 upper-case digits; anything else is an error. -#}
{% macro _normalize_lsn(lsn, argument) %}
    {% do dbt_cdc.raise_cdc_error(
        313, argument ~ ' is NULL', 'give an LSN: 0x and 20 hexadecimal digits'
    ) if lsn is none %}
    {% set text = dbt_cdc._lsn_text(lsn) %}
    {% do dbt_cdc.raise_cdc_error(
        313, argument ~ " '" ~ text ~ "' is not an LSN", 'give 0x and 20 hexadecimal digits'
    ) if not modules.re.match('^0[xX][0-9a-fA-F]{20}$', text) %}
    {% do return('0x' ~ text[2:] | upper) %}
{% endmacro %}


{#- The same inside a statement: NULL for what is no LSN. -#}
{% macro _normalized_lsn_sql(expression) -%}
    case
        when {{ expression }} rlike '(?i){{ dbt_cdc._lsn_pattern() }}'
            then concat('0x', upper(substr({{ expression }}, 3)))
    end
{%- endmacro %}
