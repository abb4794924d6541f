{#- SQL: whether a captured column (a value) has changed by an update mask (SQL). -#}
{% macro has_column_changed(capture_instance, column_name, mask) -%}
    {%- if execute -%}
    {%- set instance = dbt_cdc._find_instance(capture_instance) -%}
    {%- do dbt_cdc._check_as_entered(instance) -%}
    {{ dbt_cdc.is_bit_set(dbt_cdc._captured_ordinal(instance, column_name), mask) }}
    {%- endif -%}
{%- endmacro %}


{#- The ordinal of a captured column, or error 22918. -#}
{% macro _captured_ordinal(instance, column_name, number=22918) %}
    {% set ordinal = dbt_cdc._find_ordinal(instance.columns, column_name) %}
    {% do dbt_cdc.raise_cdc_error(
        number, "capture instance '" ~ instance.name ~ "' does not capture a column '"
        ~ (column_name if column_name is not none else 'NULL') ~ "'",
        'it captures ' ~ instance.columns | map(attribute='name') | join(', ')
    ) if ordinal is none %}
    {% do return(ordinal) %}
{% endmacro %}
