{#- The instances of var cdc_capture_instances, in lower case: those that are published together, known
    while dbt parses already. None without the variable: then all change tables of the project are. -#}
{% macro _listed_instances() %}
    {% set listed = var('cdc_capture_instances', none) %}
    {% if listed is none %}
        {% do return(none) %}
    {% endif %}
    {% if listed is string or listed is mapping or listed is not sequence %}
        {% do dbt_cdc.raise_cdc_error(
            22963, "var cdc_capture_instances is '" ~ listed ~ "'",
            'give a list: vars: {cdc_capture_instances: [' ~ listed ~ ']}'
        ) %}
    {% endif %}
    {% do return(listed | map('lower') | list) %}
{% endmacro %}


{#- A run publishes what is listed: a change table beside the list, or a name without one, is an error. -#}
{% macro _check_listed_instances() %}
    {% set listed = dbt_cdc._listed_instances() %}
    {% if listed is not none %}
        {% for name, instance in dbt_cdc._capture_instances().items() if name not in listed %}
            {% do dbt_cdc.raise_cdc_error(
                22981, "capture instance '" ~ instance.name ~ "' of model " ~ instance.model
                ~ ' is not listed among those that are published together',
                'add it in dbt_project.yml: ' ~ dbt_cdc._listing_line(instance.name)
            ) %}
        {% endfor %}
        {% for name in listed if name not in dbt_cdc._capture_instances() %}
            {% do dbt_cdc.raise_cdc_error(
                22981, "var cdc_capture_instances lists '" ~ name ~ "', which no model captures",
                'add model ' ~ name ~ '_ct (dbt run-operation enable_table prints it), or take the name out'
            ) %}
        {% endfor %}
    {% endif %}
{% endmacro %}


{#- The variable with one more instance. -#}
{% macro _listing_line(name) %}
    {% set listed = dbt_cdc._listed_instances() %}
    {% set names = var('cdc_capture_instances', none) | list if listed is not none else [] %}
    {% for node in graph.nodes.values()
        if listed is none and node.resource_type == 'model' and node.config.materialized == 'change_table' %}
        {% do names.append(node.name[:-3]) %}
    {% endfor %}
    {% do return('vars: {cdc_capture_instances: [' ~ ((names if listed is not none else names | sort) + [name]) | join(', ') ~ ']}') %}
{% endmacro %}
