{#- The persistent functions of change tracking, for anyone with a SQL prompt. They are made before
    the publication in which a table first appears. -#}
{% macro _create_tracking_functions(tables) %}
    {% if tables and dbt_cdc._switch_of_var('cdc_persistent_functions', true) %}
        {% set statements = dbt_cdc._version_functions() %}
        {% for tracked in tables %}
            {% do statements.update(dbt_cdc._changetable_functions(tracked)) %}
        {% endfor %}
        {% do return(dbt_cdc._replace_functions(statements)) %}
    {% endif %}
    {% do return([]) %}
{% endmacro %}


{#- Name -> the rest of `create function`. A table is called schema.table or schema_table. -#}
{% macro _version_functions() %}
    {% set columns_of = '(select max(transform(columns, name -> lower(name))) from '
        ~ dbt_cdc._state_relation('change_tracking_tables') ~ ' where ' %}
    {% do return({
        'change_tracking_current_version':
            '() returns bigint return ' ~ dbt_cdc._published_version('current_version'),
        'change_tracking_min_valid_version':
            '(table_name string) returns bigint return (select coalesce(min_valid_versions[lower(table_name)], '
            ~ "transform_keys(min_valid_versions, (name, version) -> replace(name, '.', '_'))[lower(table_name)]) from "
            ~ dbt_cdc._tracking_versions() ~ ')',
        'change_tracking_column_id':
            '(table_name string, column_name string) returns int return cast(nullif(array_position(coalesce('
            ~ columns_of ~ "lower(concat(source_schema, '.', source_name)) = lower(table_name)), "
            ~ columns_of ~ "replace(lower(concat(source_schema, '_', source_name)), '.', '_') = lower(table_name))), "
            ~ 'lower(column_name)), 0) as int)',
        'change_tracking_is_column_in_mask':
            '(column_id int, change_columns string) returns boolean return '
            ~ dbt_cdc.change_tracking_is_column_in_mask('column_id', 'change_columns'),
    }) %}
{% endmacro %}


{% macro _changetable_functions(tracked) %}
    {% set changes, version = 'changetable_changes_' ~ tracked.name[16:], 'changetable_version_' ~ tracked.name[16:] %}
    {% do return({
        changes: dbt_cdc._changes_function_sql(tracked, changes),
        version: dbt_cdc._version_function_sql(tracked, version),
    }) %}
{% endmacro %}


{% macro _changes_function_sql(tracked, function) -%}
    (last_sync_version bigint, allow_stale boolean default false)
    returns table (
        {%- for name, data_type in dbt_cdc._change_columns_types(tracked).items() %}
        {{ dbt_cdc._column(name) }} {{ data_type }}{{ ',' if not loop.last }}
        {%- endfor %}
    )
    return
    {%- set given = dbt_cdc._parameters(['last_sync_version'], tracked.index_columns, function) %}
    {{ dbt_cdc._changes_sql(tracked, given.last_sync_version, 'allow_stale') }}
{%- endmacro %}


{#- Parameters are called key_1 ... in the key's order: names of columns would hide them. -#}
{% macro _version_function_sql(tracked, function) -%}
    {%- set values = [] -%}
    (
        {%- for column in dbt_cdc._key_columns(tracked) -%}
        {%- set name = 'key_' ~ loop.index -%}
        {%- do values.append(dbt_cdc._parameters([name], tracked.index_columns, function)[name]) -%}
        key_{{ loop.index }} {{ dbt_cdc._expression_type(column.data_type) }}{{ ', ' if not loop.last }}
        {%- endfor -%}
    )
    returns table (
        sys_change_version bigint,
        sys_change_context string,
        {%- for column in dbt_cdc._key_columns(tracked) %}
        {{ dbt_cdc._column(column.name) }} {{ dbt_cdc._expression_type(column.data_type) }}
        {{- ',' if not loop.last }}
        {%- endfor %}
    )
    return
    {{ dbt_cdc._version_sql(tracked, values) }}
{%- endmacro %}
