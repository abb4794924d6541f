{#- The source tables of all instances, and the instances of some. -#}

{% macro _instances_of(tables) %}
    {% set instances = [] %}
    {% for instance in dbt_cdc._capture_instances().values()
        if dbt_cdc._source_of(instance) in tables %}
        {% do instances.append(instance) %}
    {% endfor %}
    {% do return(instances) %}
{% endmacro %}


{% macro _captured_tables_sql() -%}
    {{ dbt_cdc._source_tables_sql(dbt_cdc._capture_instances().values()) }}
{%- endmacro %}


{#- Whether a transaction surely leaves rows: an INSERT or DELETE does, unless the model is edited. -#}
{% macro _leaves_rows() -%}
    arrays_overlap(changed_tables, {{ dbt_cdc._source_tables_sql(
        dbt_cdc._capture_instances().values() | rejectattr('is_edited') | list) }})
{%- endmacro %}


{#- The tables of which a transaction may leave rows. -#}
{% macro _tables_to_ask() -%}
    {{ 'array_union(changed_tables, updated_tables)'
        if dbt_cdc._capture_instances().values() | selectattr('is_edited') | list else 'updated_tables' }}
{%- endmacro %}
