{#- The body of a metadata model: an empty table of the columns that its YAML lists. -#}
{% macro state_table() -%}
    {{ config(materialized='state_table', full_refresh=false) }}
    {%- do dbt_cdc._check_configs() if execute %}
    {{- dbt_cdc._no_rows(dbt_cdc._state_columns(model)) if execute }}
{%- endmacro %}


{#- Creates the table if it is missing and needed; never replaces one, whatever the flags. -#}
{% materialization state_table, default %}
    {% set relation = this.incorporate(type='table') %}
    {% set is_needed = dbt_cdc._is_needed(model) %}
    {% if is_needed and load_cached_relation(this) is none %}
        {% do dbt_cdc._check_first_run() %}
        {% call statement('main') -%}
            {{ dbt_cdc._create_once(dbt_cdc._create_state_table_sql(relation, model)) }}
        {%- endcall %}
    {% else %}
        {% call noop_statement('main', 'OK') -%}
            -- {{ this }} is there, or nothing needs it
        {%- endcall %}
    {% endif %}
    {% if is_needed %}
        {% do apply_grants(relation, config.get('grants'), should_revoke(relation, false)) %}
        {% do dbt_cdc._persist_column_docs(relation) %}
    {% endif %}
    {% do return({'relations': [relation] if is_needed else []}) %}
{% endmaterialization %}
