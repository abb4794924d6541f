{#- The tables that the log has records of; none in a project that has no log yet. -#}
{% macro log_tables() -%}
    {%- if dbt_cdc._setting('cdc_log_model') or dbt_cdc._setting('cdc_log_source') -%}
select source_schema, source_name from {{ dbt_cdc._log_relation() }} where source_name is not null
    {%- else -%}
select '' as source_schema, '' as source_name where false
    {%- endif -%}
{%- endmacro %}
