{#- The transactions that the project goes on without. -#}
{% macro _given_up() %}
    {% set given = var('cdc_give_up_transactions', none) or [] %}
    {% do dbt_cdc._check_is_list('cdc_give_up_transactions', given, '"' ~ given ~ '"') %}
    {% do return(given) %}
{% endmacro %}


{#- Whether a transaction is one of them, by xid or xid:commit number, where there are any. -#}
{% macro _is_given_up() -%}
{%- set names = dbt_cdc._literals(dbt_cdc._given_up()) -%}
(xid in ({{ names }}) or concat_ws(':', xid, commit_number) in ({{ names }}))
{%- endmacro %}
