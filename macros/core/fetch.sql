{#- Rows of a small query as dictionaries; times as text. -#}
{% macro _fetch(query) %}
    {% do return(dbt_cdc._dictionaries(run_query(query))) %}
{% endmacro %}


{% macro _dictionaries(table) %}
    {% set rows = [] %}
    {% for row in table.rows %}
        {% do rows.append(row.dict()) %}
    {% endfor %}
    {% do return(rows) %}
{% endmacro %}


{#- The rows of a query as one JSON text. -#}
{% macro _as_json(query) -%}
    select to_json(collect_list(struct(*)), map('ignoreNullFields', 'false'))
    from (
        {{ dbt_cdc._indent(query, 8) }}
    )
{%- endmacro %}
