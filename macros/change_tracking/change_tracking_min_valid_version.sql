{#- The smallest last_sync_version of a table that can be answered; none for a table that is not
    tracked. A value at run time. -#}
{% macro change_tracking_min_valid_version(table) %}
    {% do return(dbt_cdc._while_parsing(0)) if not execute %}
    {% set suffix = dbt_cdc._suffix_of(table) %}
    {% for key, version in dbt_cdc._tracking_state_to_read().min_valid_versions.items()
        if dbt_cdc._suffix_of(key) == suffix %}
        {% do return(version | int) %}
    {% endfor %}
    {% do return(none) %}
{% endmacro %}
