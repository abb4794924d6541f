{#- A variable of the project; in this repository the example's, which no project that installs the package
    must see: in dbt_project.yml it would. -#}
{% macro _setting(name) %}
    {% set example = {
        'cdc_log_model': 'shop_log',
        'cdc_capture_instances': [
            'public_customers', 'public_docs', 'public_events_log', 'public_orders',
        ],
    } %}
    {% do return(var(name, example.get(name) if project_name == 'dbt_cdc' else none)) %}
{% endmacro %}


{#- What advice to set a variable says of the place: dbt shows the macros of a model what is below the name of the
    model's own project or package, and nothing else of such scopes. -#}
{% macro _directly_below_vars() %}
    {% do return(', directly below vars: (the models of the project and of dbt_cdc read it, and what stands below the '
        ~ 'name of one of them the other does not see)') %}
{% endmacro %}


{#- A model of the project, also where a model of this package refers to it. -#}
{% macro _ref_of_project(name) %}
    {% set is_ours = model is defined and model.get('package_name') == 'dbt_cdc' %}
    {% do return(ref(project_name, name) if is_ours else ref(name)) %}
{% endmacro %}
