{#- The name of the before image as it is logged, `before` where `old` is another one. -#}
{% macro _logged_before(instance) -%}
    {{ 'before' if instance.before_image == 'partial' and instance.index_columns else 'old' }}
{%- endmacro %}


{#- All but the computed ones. -#}
{% macro _logged_columns(columns) %}
    {% set logged = [] %}
    {% for column in columns if not dbt_cdc._is_computed(column) %}
        {% do logged.append(column) %}
    {% endfor %}
    {% do return(logged) %}
{% endmacro %}
