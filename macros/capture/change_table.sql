{#- The body of a change table's model: the rows of the scan window, in SQL Server's shape.
    Its YAML says what is captured; docs/decisions/0003 tells why it is written as it is. -#}
{% macro change_table() -%}
    {{ config(materialized='change_table', full_refresh=false) }}
    {%- do dbt_cdc._log_relation() %}
    {%- do dbt_cdc._state_relation('scan_transactions') %}
    {%- if execute %}
        {%- do dbt_cdc._file_format() %}
        {%- do dbt_cdc._check_location(model, model.fqn[0]) %}
        {%- set instance = dbt_cdc._current_instance(dbt_cdc.captured_model()) %}
{{ dbt_cdc._change_rows(instance, dbt_cdc._instance_window(instance, dbt_cdc.scan_window())) }}
    {%- endif %}
{%- endmacro %}


{% macro _change_rows(instance, window) -%}
{%- set read = dbt_cdc._window_of_moves(instance, window) -%}
{%- set instance = dbt_cdc._with_encodings(instance, read or window) -%}
{%- if read -%}
{{ dbt_cdc._moved_rows(instance, window, read) }}
{%- else -%}
{{ dbt_cdc._checked_changes(instance, window) }}

{{ dbt_cdc._rows_of_typed(instance) }}
{%- endif -%}
{%- endmacro %}
