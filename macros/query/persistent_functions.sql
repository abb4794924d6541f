{#- The query functions under SQL Server's names, for anyone with a SQL prompt. They are made before
    the publication in which an instance first appears. -#}

{#- Run-operation: makes all persistent functions anew, e.g. after an update of the package. -#}
{% macro create_functions() %}
    {% if execute %}
        {% set known = dbt_cdc._registered_if_any() %}
        {% for name, instance in dbt_cdc._capture_instances().items() if name in known %}
            {% do dbt_cdc._check_unedited(instance, known[name]) %}
            {% do dbt_cdc._take_registered(instance, known[name]) %}
        {% endfor %}
        {#- those of a table that is not published yet are made by the run that publishes it -#}
        {% set tracked = dbt_cdc._tracked_tables().values()
            | selectattr('key', 'in', dbt_cdc._tracking_state().min_valid_versions) | list %}
        {% for name in dbt_cdc._create_functions(dbt_cdc._capture_instances().values() | list)
            + dbt_cdc._create_tracking_functions(tracked) %}
            {% do log('created ' ~ name, info=true) %}
        {% endfor %}
    {% endif %}
{% endmacro %}


{% macro _create_functions(instances) %}
    {% set statements = dbt_cdc._lsn_functions() %}
    {% do statements.update(dbt_cdc._mask_functions()) %}
    {% for instance in instances %}
        {% do statements.update(dbt_cdc._query_functions(instance)) %}
    {% endfor %}
    {% set names = dbt_cdc._replace_functions(statements) %}
    {% do dbt_cdc._grant_to_roles(instances) %}
    {% do return(names) %}
{% endmacro %}


{#- Name -> the rest of `create function`; gives their full names. -#}
{% macro _replace_functions(statements) %}
    {% set names, creates = [], [] %}
    {% for name, statement in statements.items() %}
        {% do names.append(dbt_cdc._function_name(name)) %}
        {% do creates.append('create or replace function ' ~ names[-1] ~ statement) %}
    {% endfor %}
    {% do dbt_cdc._run_all(creates) %}
    {% do return(names) %}
{% endmacro %}


{% macro _function_name(name) %}
    {% do return(dbt_cdc._validity_intervals().schema ~ '.' ~ name) %}
{% endmacro %}
