{#- The transactions that the project goes on without. -#}
{% macro _given_up() %}
    {% set given = var('cdc_give_up_transactions', none) or [] %}
    {% do dbt_cdc._check_is_list('cdc_give_up_transactions', given, '"' ~ given ~ '"') %}
    {% do return(given) %}
{% endmacro %}
