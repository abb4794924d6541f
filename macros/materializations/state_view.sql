{#- A view of the state tables: created if it is missing, and replaced if its SQL differs from the SQL
    that created it (kept in a table property), so that an unchanged one costs a run nothing. -#}
{% materialization state_view, default %}
    {% set relation = this.incorporate(type='view') %}
    {% set stamp = local_md5(compiled_code) %}
    {% set present = load_cached_relation(this) %}
    {% set missing = [] %}
    {% for id in model.depends_on.nodes if id in graph.nodes and not dbt_cdc._is_needed(graph.nodes[id])
        and load_cached_relation(dbt_cdc._model_relation(graph.nodes[id])) is none %}
        {% do missing.append(id) %}
    {% endfor %}
    {% if missing or (present is not none and stamp in (present.information or '')) %}
        {% call noop_statement('main', 'OK') -%}
            -- {{ this }} is kept, or nothing needs it
        {%- endcall %}
    {% else %}
        {% call statement('main') -%}
            create or replace view {{ relation }}
            tblproperties ('dbt_cdc.sql' = '{{ stamp }}') as
            {{ compiled_code }}
        {%- endcall %}
    {% endif %}
    {% do apply_grants(relation, config.get('grants'), should_revoke(relation, false)) if not missing %}
    {% do return({'relations': [] if missing else [relation]}) %}
{% endmaterialization %}
