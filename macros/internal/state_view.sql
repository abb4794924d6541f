{#- A view of the state tables: made where it is missing and replaced where its SQL is another than the
    one that it was made with (a table property says which), so that an unchanged one costs a run nothing. -#}
{% materialization state_view, default %}
    {% set relation = this.incorporate(type='view') %}
    {% set stamp = local_md5(compiled_code) %}
    {% set present = load_cached_relation(this) %}
    {% if present is not none and stamp in (present.information or '') %}
        {% call noop_statement('main', 'OK') -%}
            -- {{ this }} is kept
        {%- endcall %}
    {% else %}
        {% call statement('main') -%}
            create or replace view {{ relation }}
            tblproperties ('dbt_cdc.sql' = '{{ stamp }}') as
            {{ compiled_code }}
        {%- endcall %}
    {% endif %}
    {% do return({'relations': [relation]}) %}
{% endmaterialization %}


{#- Only the SQL of one, for a macro that may run before any view is made. -#}
{% macro _view_sql(name) -%}
    {{ render(graph.nodes['model.dbt_cdc.' ~ name].raw_code) }}
{%- endmacro %}
