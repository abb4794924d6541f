{#- Appends the window's rows once, whatever happens, as a change table's materialization does: the
    guard sees versions of the window that are already there. Made if it is missing and never
    replaced. -#}
{% materialization change_tracking_table, default %}
    {% set relation = this.incorporate(type='table') %}
    {% set tracked = dbt_cdc._tracked_table(model) %}
    {% set window = dict(dbt_cdc.scan_window(), log=dbt_cdc._log_relation()) %}

    {{ run_hooks(pre_hooks) }}

    {% set existing = load_cached_relation(this) %}
    {% if existing is none %}
        {% call statement('create') -%}
            {{ dbt_cdc._create_once(dbt_cdc._create_table_sql(
                relation, dbt_cdc._side_table_columns(tracked), 'sys_change_version')) }}
        {%- endcall %}
    {% endif %}

    {% set is_capturing = dbt_cdc._is_capturing(window) %}
    {% if is_capturing and tracked.name in window.versions.tables
        and dbt_cdc._is_touched(tracked, window) %}
        {% do dbt_cdc._check_key_types(tracked, this) if existing is not none %}
        {% set is_later = 'sys_change_version > ' ~ window.versions.base %}
        {% set count_rows = 'select count(*) as row_count from ' ~ relation ~ ' where ' ~ is_later %}
        {% set rows_before = dbt_cdc._rows_before(window, count_rows) %}
        {% set encoded = dbt_cdc._with_encodings(tracked, window) %}
        {% set row_count = dbt_cdc._main_write_and_fetch(
            dbt_cdc._insert_once(
                relation, dbt_cdc._as_written(compiled_code), is_later, false,
                dbt_cdc._raise_first_problem(encoded, dbt_cdc._checked_events(encoded, window))),
            count_rows
        )[0].row_count %}
    {% endif %}
    {% do dbt_cdc._note_captured(tracked, row_count or 0) if is_capturing %}

    {% do return(dbt_cdc._end_of_model(
        relation, 'nothing to track', (row_count or 0) - (rows_before or 0), existing, existing is none)) %}
{% endmaterialization %}


{#- Refuses a key column of another type than its table has, which would store its values as that. -#}
{% macro _check_key_types(tracked, relation) %}
    {% set kept = {} %}
    {% for column in adapter.get_columns_in_relation(relation) %}
        {% do kept.update({column.name | lower: column.dtype | lower}) %}
    {% endfor %}
    {% for column in dbt_cdc._key_columns(tracked)
        if not dbt_cdc._holds_type(kept[column.name | lower], column.data_type | lower | trim) %}
        {% do dbt_cdc.raise_cdc_error(
            4997, 'the type of key column ' ~ column.name ~ ' of change tracking of table ' ~ tracked.table
            ~ ' was edited: it is ' ~ kept[column.name | lower] ~ ', the YAML says ' ~ column.data_type,
            'take the edit back, or disable_change_tracking and enable it again'
        ) %}
    {% endfor %}
{% endmacro %}


{#- The columns of a side table in physical order: name -> type. `sys_change_existed` tells whether the row
    was there before the transaction. `sys_change_columns` has a bit for each column id, 56 in a number; NULL
    are all columns. -#}
{% macro _side_table_columns(tracked) %}
    {% set columns = {
        'sys_change_version': 'bigint',
        'sys_change_creation_version': 'bigint',
        'sys_change_operation': 'string',
        'sys_change_existed': 'boolean',
        'sys_change_columns': 'array<bigint>',
        'sys_change_context': 'string',
    } %}
    {% for column in dbt_cdc._key_columns(tracked) %}
        {% do columns.update({column.name: column.data_type}) %}
    {% endfor %}
    {% do return(columns) %}
{% endmacro %}
