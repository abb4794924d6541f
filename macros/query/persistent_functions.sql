{#- The query functions under SQL Server's names, for anyone with a SQL prompt. They are made before
    the publication in which an instance first appears. -#}

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


{#- Makes functions of instances anew that read rows otherwise from now on. Where runs make none, there may be some all
    the same. -#}
{% macro _make_functions_anew(instances) %}
    {% do dbt_cdc._create_functions(instances)
        if instances and dbt_cdc._switch_of_var('cdc_persistent_functions', true) %}
    {% do dbt_cdc._tell_of_old_functions(instances | map(attribute='name') | list) %}
{% endmacro %}


{% macro _tell_of_old_functions(names) %}
    {% do dbt_cdc._log_line(
        'cdc_persistent_functions is false, so functions of ' ~ names | join(', ')
        ~ ' stay as they are: where you have some, dbt run-operation create_functions makes them anew'
    ) if names and not dbt_cdc._switch_of_var('cdc_persistent_functions', true) %}
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
