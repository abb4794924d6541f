{#- The smallest last_sync_version of a table that can be answered; none for a table that is not
    tracked. A value at run time. -#}
{% macro change_tracking_min_valid_version(table) %}
    {% if not execute %}
        {% do ref('dbt_cdc', 'lsn_time_mapping') %}
        {% do return(0) %}
    {% endif %}
    {% set name = (table if table is not none else '') | string | lower | trim %}
    {% for key, version in dbt_cdc._tracking_state().min_valid_versions.items() %}
        {% set suffix = modules.re.sub('[^a-z0-9_]', '_', key) %}
        {% if name in [key, suffix, 'change_tracking_' ~ suffix] %}
            {% do return(version | int) %}
        {% endif %}
    {% endfor %}
    {% do return(none) %}
{% endmacro %}
