{#- How a model of one of this package's materializations ends. dbt wants a statement `main`, also where there was
    nothing to do: then `idle` says so. dbt's line shows how many rows this run has added. -#}
{% macro _end_of_model(relation, idle=none, row_count=none) %}
    {% if row_count %}
        {% do store_raw_result(
            'main', message='INSERT ' ~ '{:,}'.format(row_count | int), code='INSERT', rows_affected=row_count | int
        ) %}
    {% elif not load_result('main') %}
        {% call noop_statement('main', 'OK') -%}
            -- {{ idle }}
        {%- endcall %}
    {% endif %}
    {% do persist_docs(relation, model) %}
    {{ run_hooks(post_hooks) }}
    {% do return({'relations': [relation]}) %}
{% endmacro %}
