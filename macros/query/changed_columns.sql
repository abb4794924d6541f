{#- SQL: the names of the columns that an update mask (SQL) says have changed, in ordinal order: an
    array of strings; NULL for a NULL mask. -#}
{% macro changed_columns(capture_instance, mask) -%}
    {%- if execute -%}
    {%- set instance = dbt_cdc._find_instance(capture_instance) -%}
    {%- do dbt_cdc._check_as_entered(instance) -%}
    case when {{ mask }} is not null then filter(
        {{ dbt_cdc._names(instance.columns) }},
        (cdc_name, cdc_place) -> {{ dbt_cdc._indent(
            dbt_cdc.is_bit_set('cdc_place + 1', mask), 4) }}
    ) end
    {%- endif -%}
{%- endmacro %}
