{#- Tells dbt while it parses what a model reads: change tables, and the publication that moves their bounds.
    A name that is not listed is left for error 22981: for an unknown `ref` dbt stops the whole project with an
    error of its own, before any macro runs. -#}
{% macro _depend_on_instances(names) %}
    {% do ref('dbt_cdc', 'lsn_time_mapping') %}
    {% for name in names
        if dbt_cdc._object_name((name or '') | string) in dbt_cdc._listed('cdc_capture_instances') %}
        {% do dbt_cdc._ref_of_project(dbt_cdc._object_name(name) ~ '_ct') %}
    {% endfor %}
{% endmacro %}


{#- What a macro gives whose model reads what is published, before that can be asked. -#}
{% macro _while_parsing(value) %}
    {% do ref('dbt_cdc', 'lsn_time_mapping') %}
    {% do return(value) %}
{% endmacro %}


{#- What a query gives in a unit test, to which dbt shows no YAML of other models: the rows of `given`, as they are. -#}
{% macro _given_rows(name) -%}
    (select * from {{ dbt_cdc._ref_of_project(name) }})
{%- endmacro %}


{% macro _given_changes(capture_instance) %}
    {% do return(dbt_cdc._given_rows(dbt_cdc._object_name(capture_instance) ~ '_ct')) %}
{% endmacro %}
