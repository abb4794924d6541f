{#- What init reads of SQL Server's change tables as they are exported, beside lsn_time_mapping. -#}

{#- The exported change tables by the name of their source table, as `_landed_tables` tells them; with the relation,
    its columns and how a model names it. A capture instance is called schema_table unless somebody named it. -#}
{% macro _exported_tables(place) %}
    {% set tables, relations = {}, {} %}
    {% for row in dbt_cdc._fetch('show tables in ' ~ place.relation.without_identifier()) %}
        {% do relations.update({row.tableName | lower: api.Relation.create(
            database=place.relation.database, schema=place.relation.schema, identifier=row.tableName)}) %}
    {% endfor %}
    {% set keys = dbt_cdc._exported_keys(relations) %}
    {% do place.update(change_tables=dbt_cdc._exported_table(relations.change_tables))
        if 'change_tables' in relations %}
    {% do place.update(ddl_history=dbt_cdc._exported_table(relations.ddl_history))
        if 'change_tables' in relations and 'ddl_history' in relations %}
    {% for identifier, relation in relations.items() | sort if identifier.endswith('_ct')
        and '__$update_mask' in dbt_cdc._exported_types(relation, []) %}
        {% set instance = relation.identifier[:-3] %}
        {% set schema, _, name = instance.partition('_') %}
        {% do dbt_cdc.raise_cdc_error(
            22963, 'table ' ~ place.schema ~ '.' ~ relation.identifier ~ ' does not tell its source table: '
            ~ instance ~ ' is no schema_table',
            'export it as <schema>_<table>_CT, or write its files by hand (' ~ dbt_cdc._page('sources/sqlserver.md')
            ~ ')'
        ) if not name %}
        {% do tables.update({schema ~ '.' ~ name: dict(
            dbt_cdc._exported_table(relation), source_schema=schema, source_name=name, without_before_image=0,
            repeats_key=false, schemas=[], key=keys.get(instance | lower),
            columns=dbt_cdc._exported_columns_of_instance(relation),
            changes=dbt_cdc._fetch('select count_if(`__$operation` <> 3) as changes from ' ~ relation)[0].changes
        )}) %}
    {% endfor %}
    {% do dbt_cdc._log_line(
        place.name ~ ': times are taken for UTC: give the time_zone of the server in the log model, if it is another; '
        ~ 'a replica needs a copy of the rows from before the first change: '
        ~ dbt_cdc._page('replica.md#what-it-starts-with')
    ) if tables %}
    {% do return(tables) %}
{% endmacro %}


{#- How a model names it, and which model writes it, if any. -#}
{% macro _exported_table(relation) %}
    {% set model = dbt_cdc._model_of(relation) %}
    {% do return({
        'identifier': relation.identifier, 'model': model,
        'reference': dbt_cdc._reference_of(model, relation.identifier),
    }) %}
{% endmacro %}


{#- Its columns as a change table declares them. -#}
{% macro _exported_columns_of_instance(relation) %}
    {% set columns = [] %}
    {% for column in dbt_cdc._exported_columns(relation) %}
        {% do columns.append({
            'name': column.name, 'data_type': column.dtype | lower | replace('timestamp_ntz', 'timestamp')
        }) %}
    {% endfor %}
    {% do return(columns) %}
{% endmacro %}


{#- The index columns by capture instance, as the key of an event names them; where cdc.change_tables and
    cdc.index_columns are exported, too. -#}
{% macro _exported_keys(relations) %}
    {% set keys = {} %}
    {% if 'change_tables' in relations and 'index_columns' in relations %}
        {% for row in dbt_cdc._fetch(
            'select lower(capture_instance) as instance, cast(index_ordinal as int) as ordinal, column_name '
            ~ 'from ' ~ relations.change_tables ~ ' inner join ' ~ relations.index_columns ~ ' using (object_id) '
            ~ 'order by 1, 2') %}
            {% do keys.setdefault(row.instance, {}).update({row.column_name: none}) %}
        {% endfor %}
        {% for instance, columns in keys.items() %}
            {% do keys.update({instance: tojson(columns)}) %}
        {% endfor %}
    {% endif %}
    {% do return(keys) %}
{% endmacro %}


{% macro _exported_table_of(place, node) %}
    {% set cdc = node.config.meta.cdc %}
    {% do return(place.tables[cdc.source_schema ~ '.' ~ cdc.source_name]) %}
{% endmacro %}


{% macro _first_log_of_export(place, nodes) -%}
{{ '{{' }} config(materialized='incremental', incremental_strategy='append', file_format='delta') {{ '}}' }}

{{ '{{' }} dbt_cdc.change_table_log(
    {
        {%- for node in nodes %}
        {%- set table = dbt_cdc._exported_table_of(place, node) %}
        {{ tojson(table.source_schema ~ '.' ~ table.source_name) }}: {{ table.reference }},
        {%- endfor %}
    },
    {{ place.reference }},
    time_zone='UTC',
    {%- if place.change_tables %}
    change_tables={{ place.change_tables.reference }},
    {%- endif %}
    {%- if place.ddl_history %}
    ddl_history={{ place.ddl_history.reference }},
    {%- endif %}
) {{ '}}' }}
{%- endmacro %}
