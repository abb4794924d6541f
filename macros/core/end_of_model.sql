{#- How a model of one of this package's materializations ends. dbt wants a statement `main`, also where there was
    nothing to do: then `idle` says so. dbt's line shows how many rows this run has added. `existing`: what was there
    before; `is_made`: whether the table was made, or made anew. What dbt's incremental models do with constraints,
    grants and docs follows. `grants`: what the model's config has, and more. -#}
{% macro _end_of_model(relation, idle=none, row_count=none, existing=none, is_made=false, grants=none) %}
    {% if row_count %}
        {% do store_raw_result(
            'main', message='INSERT ' ~ '{:,}'.format(row_count | int), code='INSERT', rows_affected=row_count | int
        ) %}
    {% elif not load_result('main') %}
        {% call noop_statement('main', 'OK') -%}
            -- {{ idle }}
        {%- endcall %}
    {% endif %}
    {% do persist_constraints(relation, model) if is_made %}
    {% do apply_grants(
        relation, config.get('grants') if grants is none else grants, should_revoke(existing, is_made)
    ) %}
    {% do dbt_cdc._persist_column_docs(relation) %}
    {{ run_hooks(post_hooks) }}
    {% do return({'relations': [relation]}) %}
{% endmacro %}


{#- dbt's own does nothing for a model whose config has no file_format, and sends a statement a column in each run. -#}
{% macro _persist_column_docs(relation) %}
    {% if config.persist_column_docs() and model.columns %}
        {% set comments = {} %}
        {% for row in dbt_cdc._fetch('describe table ' ~ relation) if row.data_type %}
            {% do comments.setdefault(row.col_name | lower, row.comment or '') %}
        {% endfor %}
        {% for name, column in model.columns.items()
            if name | lower in comments and column.description != comments[name | lower] %}
            {% do run_query(
                'alter table ' ~ relation ~ ' alter column ' ~ dbt_cdc._column(name) ~ ' comment '
                ~ dbt_cdc._literal(column.description)
            ) %}
        {% endfor %}
    {% endif %}
{% endmacro %}
