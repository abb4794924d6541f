{#- The body of a tracked table's model, its side table: which keys the transactions of the scan
    window have changed. Its YAML says what is tracked; docs/change-tracking.md tells how it is
    read. -#}
{% macro change_tracking_table() -%}
    {{ config(materialized='change_tracking_table', full_refresh=false) }}
    {%- set log = dbt_cdc._log_relation() %}
    {%- do dbt_cdc._state_relation('scan_transactions') %}
    {%- if execute %}
        {%- set tracked = dbt_cdc._tracked_table(model) %}
        {%- do dbt_cdc._file_format() %}
        {%- do dbt_cdc._check_location(model, model.fqn[0]) %}
{{ dbt_cdc._tracked_rows(tracked, dict(dbt_cdc.scan_window(), log=log)) }}
    {%- endif %}
{%- endmacro %}
