{#- The raw log: the model of var cdc_log_model or the source of var cdc_log_source. A project that has just
    installed the package has none yet, and can be parsed all the same. -#}
{% macro _log_relation() %}
    {% set log_model = var('cdc_log_model', none) %}
    {% set log_source = var('cdc_log_source', none) %}
    {% if log_model %}
        {% do return(dbt_cdc._ref_of_project(log_model)) %}
    {% elif log_source is sequence and log_source is not string and log_source | length == 2 %}
        {% do return(source(log_source[0], log_source[1])) %}
    {% elif not execute %}
        {% do return(none) %}
    {% endif %}
    {% do dbt_cdc.raise_cdc_error(
        22901, 'no log to capture from',
        'set vars: {cdc_log_model: <model>} or {cdc_log_source: [<source>, <table>]}' ~ dbt_cdc._directly_below_vars()
    ) %}
{% endmacro %}
