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


{#- Makes the table where it is missing; never replaces one, whatever the flags. -#}
{% materialization state_table, default %}
    {% set relation = this.incorporate(type='table') %}
    {% if load_cached_relation(this) is none %}
        {% call statement('main') -%}
            {{ dbt_cdc._create_once(dbt_cdc._create_state_table_sql(relation, model.columns.values())) }}
        {%- endcall %}
    {% else %}
        {% call noop_statement('main', 'OK') -%}
            -- {{ this }} is there
        {%- endcall %}
    {% endif %}
    {% do persist_docs(relation, model) %}
    {% do return({'relations': [relation]}) %}
{% endmaterialization %}


{% macro _create_state_table_sql(relation, columns) -%}
    create table if not exists {{ relation }} (
        {%- for column in columns %}
        {{ dbt_cdc._column(column.name) }} {{ column.data_type }}{{ ',' if not loop.last }}
        {%- endfor %}
    )
    using {{ dbt_cdc._file_format() }}
{%- endmacro %}


{#- Makes the state tables that are missing, whatever is selected. -#}
{% macro _ensure_state_tables() %}
    {% set relations, creates, schemas = [], [], {} %}
    {% for node in graph.nodes.values()
        if node.resource_type == 'model' and node.config.materialized == 'state_table' %}
        {% set relation = dbt_cdc._model_relation(node) %}
        {% if load_cached_relation(relation) is none %}
            {% do relations.append(relation) %}
            {% do creates.append(dbt_cdc._create_state_table_sql(relation, node.columns.values())) %}
            {% do schemas.update({relation.without_identifier() | string: relation}) %}
        {% endif %}
    {% endfor %}
    {% for relation in schemas.values() %}
        {% do adapter.create_schema(relation) %}
    {% endfor %}
    {% if creates %}
        {% do dbt_cdc._run_all(creates, is_repeatable=true) %}
    {% endif %}
    {% for relation in relations %}
        {% do adapter.cache_added(relation) %}
    {% endfor %}
{% endmacro %}
