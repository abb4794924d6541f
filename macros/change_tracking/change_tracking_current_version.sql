{#- The version of the last published transaction that has changed a tracked table; none where
    change tracking has published nothing. A value at run time. -#}
{% macro change_tracking_current_version() %}
    {% do return(dbt_cdc._while_parsing(0)) if not execute %}
    {% do return(dbt_cdc._tracking_state_to_read().current_version) %}
{% endmacro %}
