{#- The LSN after `lsn`. NULL gives NULL; past the last one is an error. -#}
{% macro increment_lsn(lsn) %}
    {% do return(dbt_cdc._shift_lsn(lsn, 1, 'increment_lsn')) %}
{% endmacro %}


{#- Where a model is only looked at, its ends are zeros, and an LSN that has no neighbour is its own. -#}
{% macro _shift_lsn(lsn, step, name) %}
    {% do return(lsn) if not execute or lsn is none %}
    {% set number = dbt_cdc._normalize_lsn(lsn, name ~ ': lsn')[2:] | int(base=16) + step %}
    {% set is_outside = number < 0 or number >= 2 ** 80 %}
    {% do return(lsn) if is_outside and (not dbt_cdc._is_asked() or dbt_cdc._is_unit_test()) %}
    {% do dbt_cdc.raise_cdc_error(
        313, name ~ ' of ' ~ lsn ~ ' leaves the range of LSNs',
        'LSNs reach from 0x' ~ '0' * 20 ~ ' to 0x' ~ 'F' * 20
    ) if is_outside %}
    {% do return('0x' ~ '%020X' | format(number)) %}
{% endmacro %}
