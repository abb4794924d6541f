{#- The smallest last_sync_version of a table that can be answered; none for a table that is not
    tracked. A value at run time. -#}
{% macro change_tracking_min_valid_version(table) %}
    {% do return(dbt_cdc._while_parsing(0)) if not execute %}
    {% set versions = dbt_cdc._tracking_state_to_read().min_valid_versions %}
    {% set tracked = dbt_cdc._table_called(table, dbt_cdc._tracked_tables().values()) %}
    {% set version = versions.get(tracked.key if tracked else table | string | lower | trim) %}
    {% do return(version | int if version is not none else none) %}
{% endmacro %}
