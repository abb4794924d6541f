{#- The high end of all validity intervals: the last published LSN; none before the first. A value
    at run time. -#}
{% macro get_max_lsn() %}
    {% do dbt_cdc._declare_state() %}
    {% if not execute %}
        {% do return(dbt_cdc._zero_lsn()) %}
    {% endif %}
    {% do return(dbt_cdc._published_state().high_end) %}
{% endmacro %}
