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


{#- The raw log: the model of var cdc_log_model or the source of var cdc_log_source. A project that has just
    installed the package has none yet, and can be parsed all the same. -#}
{% macro _log_relation() %}
    {% set log_model = dbt_cdc._setting('cdc_log_model') %}
    {% set log_source = dbt_cdc._setting('cdc_log_source') %}
    {% if log_model %}
        {% do return(dbt_cdc._ref_of_project(log_model)) %}
    {% elif log_source is sequence and log_source is not string and log_source | length == 2 %}
        {% do return(source(log_source[0], log_source[1])) %}
    {% elif not execute %}
        {% do return(none) %}
    {% endif %}
    {% do dbt_cdc.raise_cdc_error(
        22901, 'no log to capture from',
        "set vars: {cdc_log_model: <model>} or {cdc_log_source: [<source>, <table>]}"
    ) %}
{% endmacro %}


{#- The tables that the log has records of; none in a project that has no log yet. -#}
{% macro log_tables() -%}
    {%- if dbt_cdc._setting('cdc_log_model') or dbt_cdc._setting('cdc_log_source') -%}
select source_schema, source_name from {{ dbt_cdc._log_relation() }} where source_name is not null
    {%- else -%}
select '' as source_schema, '' as source_name where false
    {%- endif -%}
{%- endmacro %}


{#- What the instance is made of: the model with its YAML. A unit test, which knows neither the
    YAML nor `graph`, overrides this macro (models/example/_example.yml). -#}
{% macro captured_model() %}
    {% do return(model) %}
{% endmacro %}
