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


{#- The columns of a table, of each {name, dtype}; behind them are rows without a type. dbt's own macro stops at the
    first column whose name begins with `#`, and has none of a table that is not there. -#}
{% macro _table_columns(relation) %}
    {% set columns = [] %}
    {% for row in dbt_cdc._fetch('describe extended ' ~ relation) %}
        {% do return(columns) if not row.data_type %}
        {% do columns.append({'name': row.col_name, 'dtype': row.data_type}) %}
    {% endfor %}
    {% do return(columns) %}
{% endmacro %}


{#- The rows of a query as one JSON text. -#}
{% macro _as_json(query) -%}
    select to_json(collect_list(struct(*)), map('ignoreNullFields', 'false'))
    from (
        {{ dbt_cdc._indent(query, 8) }}
    )
{%- endmacro %}
