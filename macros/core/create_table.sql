{#- `columns`: name -> type. Of a table that is read by windows of `window_column`, files carry the statistics of
    that column alone, unless the model's `tblproperties` say otherwise. -#}
{% macro _create_table_sql(relation, columns, window_column=none) -%}
    create table if not exists {{ relation }} (
        {%- for name, data_type in columns.items() %}
        {{ dbt_cdc._column(name) }} {{ data_type }}{{ ',' if not loop.last }}
        {%- endfor %}
    )
    using {{ dbt_cdc._file_format() }}
    {{ comment_clause() if window_column }}
    {%- set properties = dbt_cdc._model_properties(
        columns, {'delta.dataSkippingStatsColumns': dbt_cdc._column(window_column)}
    ) if window_column else dict(dbt_cdc._table_properties(columns), **dbt_cdc._without_row_conflicts()) %}
    {%- if properties %}
    tblproperties (
        {%- for key, value in properties.items() %}
        '{{ key }}' = '{{ value }}'{{ ',' if not loop.last }}
        {%- endfor %}
    )
    {%- endif %}
{%- endmacro %}


{#- No rows of such columns. -#}
{% macro _no_rows(columns) -%}
select
    {%- for name, data_type in columns.items() %}
    cast(null as {{ data_type }}) as {{ dbt_cdc._column(name) }}{{ ',' if not loop.last }}
    {%- endfor %}
where false
{%- endmacro %}


{#- Of a model's own table: `ours`, and over them what the model asks for. -#}
{% macro _model_properties(columns, ours) %}
    {% set properties = dbt_cdc._table_properties(columns) %}
    {% do properties.update(ours) %}
    {% do properties.update(dbt_cdc._without_row_conflicts()) %}
    {% do properties.update(config.get('tblproperties') or {}) %}
    {% do return(properties) %}
{% endmacro %}


{#- Names that Parquet does not take need Delta's column mapping. -#}
{% macro _table_properties(columns) %}
    {% set needs_mapping = modules.re.search('[ ,;{}()\n\t=]', columns | join('')) %}
    {% do return({'delta.columnMapping.mode': 'name'} if needs_mapping else {}) %}
{% endmacro %}


{#- Databricks looks for conflicts row by row where a table has deletion vectors. Of two runs that insert what is not
    there yet, none changes a row of the other, so both might commit (docs/decisions/0001). -#}
{% macro _without_row_conflicts() %}
    {% do return({'delta.enableDeletionVectors': 'false'} if target.type == 'databricks' else {}) %}
{% endmacro %}


{#- A table that a run made before what it is of is entered has the columns that the YAML had then. -#}
{% macro _drop_outdated(relation, wanted) %}
    {% if load_cached_relation(relation) is not none %}
        {% set found = [] %}
        {% for column in dbt_cdc._table_columns(relation) %}
            {% do found.append(column.name) if dbt_cdc._is_same_type(wanted.get(column.name, ''), column.dtype) %}
        {% endfor %}
        {% do adapter.drop_relation(load_cached_relation(relation)) if found != wanted.keys() | list %}
    {% endif %}
{% endmacro %}
