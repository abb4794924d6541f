{#- What is published together: the capture instances of var cdc_capture_instances and the tracked tables of var
    cdc_tracked_tables, known while dbt parses already. -#}

{#- The names of one list, as those of objects have them. -#}
{% macro _listed(variable) %}
    {% set listed = var(variable, none) or [] %}
    {% do dbt_cdc._check_is_list(variable, listed, listed) %}
    {% set names = [] %}
    {% for name in listed %}
        {% do names.append(
            dbt_cdc._object_name(name | string) if variable == 'cdc_capture_instances'
            else dbt_cdc._plain_name(name | string)
        ) %}
    {% endfor %}
    {% do return(names) %}
{% endmacro %}


{#- The models that are published together. -#}
{% macro _listed_models() %}
    {% set names = [] %}
    {% for name in dbt_cdc._listed('cdc_capture_instances') %}
        {% do names.append(name ~ '_ct') %}
    {% endfor %}
    {% for name in dbt_cdc._listed('cdc_tracked_tables') %}
        {% do names.append('change_tracking_' ~ dbt_cdc._suffix_of(name)) %}
    {% endfor %}
    {% do return(names) %}
{% endmacro %}


{#- The side table of a table, by its own name or the table's; what is listed goes before what is not. -#}
{% macro _side_table_of(table) %}
    {% set names = dbt_cdc._side_table_names(dbt_cdc._suffix_of(table if table is not none else '')) %}
    {% do return((names | select('in', dbt_cdc._listed_models()) | list or names)[0]) %}
{% endmacro %}


{#- A change table or tracked table beside its list, and a name without its model, is an error. -#}
{% macro _check_listed(variable, listed, names, kind) %}
    {% for name, model_name in names.items() if name not in listed %}
        {% do dbt_cdc.raise_cdc_error(
            22981, kind ~ " '" ~ name ~ "' of model " ~ model_name
            ~ ' is not listed among those that are published together',
            dbt_cdc._advice_of_package(model_name)
            ~ 'add it in dbt_project.yml: ' ~ dbt_cdc._listing_line(variable, name) ~ dbt_cdc._directly_below_vars()
        ) %}
    {% endfor %}
    {% for name in listed if name not in names %}
        {% do dbt_cdc.raise_cdc_error(
            22981, 'var ' ~ variable ~ " lists '" ~ name ~ "', which no model captures",
            'add its model (dbt run-operation enable_table or enable_change_tracking prints it), or take the '
            ~ 'name out'
        ) %}
    {% endfor %}
{% endmacro %}


{#- While dbt parses nothing tells in which package a model is: what is published together the project has itself. -#}
{% macro _advice_of_package(model_name) %}
    {% for node in graph.nodes.values() if node.resource_type == 'model' and node.name == model_name
        and node.package_name != project_name %}
        {% do return('it is in package ' ~ node.package_name ~ ', and the publication finds models of project '
            ~ project_name ~ ' alone: copy it and its YAML into the project, disable that of the package (+enabled: '
            ~ 'false), and ') %}
    {% endfor %}
    {% do return('') %}
{% endmacro %}


{#- The variable as the user has written it, with one more name. -#}
{% macro _listing_line(variable, name) %}
    {% set names = (var(variable, none) or []) + [name] %}
    {% do return('vars: {' ~ variable ~ ': ' ~ dbt_cdc._yaml_list(names | map('string') | list) ~ '}') %}
{% endmacro %}
