{#- The tables that the log has records of; none in a project that has no log yet. -#}
{% macro log_tables() -%}
    {%- if var('cdc_log_model', none) or var('cdc_log_source', none) -%}
select source_schema, source_name from {{ dbt_cdc._log_relation() }} where source_name is not null
    {%- else -%}
select '' as source_schema, '' as source_name where false
    {%- endif -%}
{%- endmacro %}
