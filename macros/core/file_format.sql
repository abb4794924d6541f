{#- The table format of change tables and state: one with ACID deletes, checked at compile time. -#}
{% macro _file_format() %}
    {% set given = (config.get('file_format') or var('cdc_file_format', 'delta')) | lower %}
    {% do dbt_cdc.raise_cdc_error(
        22938,
        "file_format '" ~ given ~ "' cannot hold change tables",
        "they need a format with ACID deletes; set file_format: delta"
    ) if given not in ['delta'] %}
    {% do return(given) %}
{% endmacro %}
