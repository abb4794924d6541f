{#- The body of a metadata model: an empty table of the columns that its YAML lists. -#}
{% macro state_table() -%}
    {{ config(materialized='state_table', full_refresh=false) }}
    {%- if execute %}
select
    {%- for column in model.columns.values() %}
    cast(null as {{ column.data_type }}) as {{ dbt_cdc._column(column.name) }}
    {{- ',' if not loop.last }}
    {%- endfor %}
where false
    {%- else -%}
select 1 as placeholder
    {%- endif %}
{%- endmacro %}


{#- Makes a state table where it is missing; never replaces one, whatever the flags. -#}
{% materialization state_table, default %}
    {% set relation = this.incorporate(type='table') %}
    {% if load_cached_relation(this) is none %}
        {% call statement('main') -%}
            {{ dbt_cdc._create_state_table_sql(relation, model.columns.values()) }}
        {%- endcall %}
    {% else %}
        {% call noop_statement('main', 'OK') -%}
            -- {{ this }} is kept
        {%- endcall %}
    {% endif %}
    {% do persist_docs(relation, model) %}
    {% do return({'relations': [relation]}) %}
{% endmaterialization %}


{% macro _create_state_table_sql(relation, columns) -%}
    {%- set create -%}
    create table if not exists {{ relation }} (
        {%- for column in columns %}
        {{ dbt_cdc._column(column.name) }} {{ column.data_type }}{{ ',' if not loop.last }}
        {%- endfor %}
    )
    using {{ dbt_cdc._file_format() }}
    {%- endset -%}
    {{ dbt_cdc._create_once(create) }}
{%- endmacro %}


{#- Makes the state tables that a run of a selection would lack. -#}
{% macro _ensure_state_tables() %}
    {% for node in graph.nodes.values() %}
        {% if node.resource_type == 'model' and node.config.materialized == 'state_table' %}
            {% set relation = dbt_cdc._model_relation(node) %}
            {% if load_cached_relation(relation) is none %}
                {% do adapter.create_schema(relation.without_identifier()) %}
                {% do run_query(
                    dbt_cdc._create_state_table_sql(relation, node.columns.values())
                ) %}
                {% do adapter.cache_added(relation) %}
            {% endif %}
        {% endif %}
    {% endfor %}
{% endmacro %}
