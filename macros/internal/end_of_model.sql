{#- How a model of one of this package's materializations ends. dbt wants a statement `main`, also where there was
    nothing to do: then `idle` says so. -#}
{% macro _end_of_model(relation, idle=none) %}
    {% if not load_result('main') %}
        {% call noop_statement('main', 'OK') -%}
            -- {{ idle }}
        {%- endcall %}
    {% endif %}
    {% do persist_docs(relation, model) %}
    {{ run_hooks(post_hooks) }}
    {% do return({'relations': [relation]}) %}
{% endmacro %}
