{#- The body of scan_transactions: the transactions of the window that this run opens, out of the log. -#}
{% macro scan() -%}
    {%- if not execute -%}
        {%- do dbt_cdc._log_relation() -%}
        {%- do dbt_cdc._declare_state() -%}
    {%- else -%}
        {%- do dbt_cdc._check_configs() -%}
{{ dbt_cdc._scan_rows(dbt_cdc._window_to_scan()) if dbt_cdc._window_to_scan().log
    else dbt_cdc._no_rows(dbt_cdc._state_columns(model)) }}
    {%- endif -%}
{%- endmacro %}
