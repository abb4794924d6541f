{#- The LSN after `lsn`. NULL gives NULL; past the last one is an error. -#}
{% macro increment_lsn(lsn) %}
    {% do return(dbt_cdc._shift_lsn(lsn, 1, 'increment_lsn')) %}
{% endmacro %}


{% macro _shift_lsn(lsn, step, name) %}
    {% do return(lsn) if not execute or lsn is none %}
    {% set number = dbt_cdc._normalize_lsn(lsn, name ~ ': lsn')[2:] | int(base=16) + step %}
    {% do dbt_cdc.raise_cdc_error(
        313, name ~ ' of ' ~ lsn ~ ' leaves the range of LSNs',
        'LSNs reach from 0x' ~ '0' * 20 ~ ' to 0x' ~ 'F' * 20
    ) if number < 0 or number >= 2 ** 80 %}
    {% do return('0x' ~ '%020X' | format(number)) %}
{% endmacro %}
