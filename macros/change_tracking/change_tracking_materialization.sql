{#- Appends the window's rows once, whatever happens, as a change table's materialization does: the
    guard sees versions of the window that are already there. Made if it is missing and never
    replaced. -#}
{% materialization change_tracking_table, default %}
    {% set relation = this.incorporate(type='table') %}
    {% set tracked = dbt_cdc._tracked_table(model) %}
    {% set window = dbt_cdc.scan_window() %}

    {{ run_hooks(pre_hooks) }}

    {% if load_cached_relation(this) is none %}
        {% call statement('create') -%}
            {{ dbt_cdc._create_side_table_sql(relation, tracked) }}
        {%- endcall %}
    {% endif %}

    {% set is_capturing = dbt_cdc._is_building() and window.to_lsn %}
    {% if is_capturing and tracked.name in window.versions.tables
        and dbt_cdc._is_touched(tracked, window) %}
        {% call statement('main') -%}
            {{ dbt_cdc._insert_once(
                relation, compiled_code,
                'not exists (select 1 from ' ~ relation ~ ' where sys_change_version > '
                ~ window.versions.base ~ ')'
            ) }}
        {%- endcall %}
    {% else %}
        {% call noop_statement('main', 'OK') -%}
            -- nothing to track
        {%- endcall %}
    {% endif %}
    {% if is_capturing %}
        {% do dbt_cdc._mark_captured(tracked, window) %}
    {% endif %}

    {% do persist_docs(relation, model) %}
    {{ run_hooks(post_hooks) }}
    {% do return({'relations': [relation]}) %}
{% endmaterialization %}


{% macro _create_side_table_sql(relation, tracked) -%}
    {%- set create -%}
    create table if not exists {{ relation }} (
        {%- for name, data_type in dbt_cdc._side_columns().items() %}
        {{ name }} {{ data_type }},
        {%- endfor %}
        {%- for column in dbt_cdc._key_columns(tracked) %}
        {{ dbt_cdc._column(column.name) }} {{ column.data_type }}{{ ',' if not loop.last }}
        {%- endfor %}
    )
    using {{ dbt_cdc._file_format() }}
    {%- set properties = dbt_cdc._change_table_properties({'columns': dbt_cdc._key_columns(tracked)}) %}
    {%- if properties %}
    tblproperties (
        {%- for key, value in properties.items() %}
        '{{ key }}' = '{{ value }}'{{ ',' if not loop.last }}
        {%- endfor %}
    )
    {%- endif %}
    {%- endset -%}
    {{ dbt_cdc._create_once(create) }}
{%- endmacro %}
