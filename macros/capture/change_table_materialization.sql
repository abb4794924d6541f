{#- Appends the window's rows once, whatever happens: the guard of the INSERT sees rows of the
    window that are already there, and on Delta makes two writers at once conflict
    (docs/decisions/0001). The table is made if it is missing and never replaced. -#}
{% materialization change_table, default %}
    {% set relation = this.incorporate(type='table') %}
    {% set instance = dbt_cdc._current_instance(model) %}
    {% do dbt_cdc._check_role(instance) %}
    {% set window = dbt_cdc._instance_window(instance, dbt_cdc.scan_window()) %}

    {{ run_hooks(pre_hooks) }}

    {% if load_cached_relation(this) is none %}
        {% call statement('create') -%}
            {{ dbt_cdc._create_table_sql(relation, dbt_cdc._change_table_columns(instance)) }}
        {%- endcall %}
    {% endif %}

    {% set is_capturing = dbt_cdc._is_capturing(window) %}
    {% if is_capturing and dbt_cdc._is_touched(instance, window) %}
        {% set row_count = dbt_cdc._append_changes(relation, instance, window, compiled_code) %}
    {% else %}
        {% call noop_statement('main', 'OK') -%}
            -- nothing to capture
        {%- endcall %}
    {% endif %}
    {% if is_capturing %}
        {% do dbt_cdc._note_captured(instance, row_count or 0) %}
    {% endif %}

    {% do persist_docs(relation, model) %}
    {{ run_hooks(post_hooks) }}
    {% do return({'relations': [relation]}) %}
{% endmaterialization %}


{#- Whether there is a window to capture; where none is open because the scan was left out, the run says so. -#}
{% macro _is_capturing(window) %}
    {% if dbt_cdc._is_building() and window.is_missing %}
        {% do dbt_cdc._log_line(
            'no scan window is open, so ' ~ model.name ~ ' captures nothing; dbt run --select +' ~ model.name
            ~ ' opens one'
        ) %}
    {% endif %}
    {% do return(dbt_cdc._is_building() and window.to_lsn) %}
{% endmacro %}


{#- The window's rows into the change table: by the fast statement, and if that fails for whatever
    reason by the model's own (docs/decisions/0003), which is guarded always. Gives how many rows of the
    window are there. -#}
{% macro _append_changes(relation, instance, window, rows) %}
    {% set later = " where `__$start_lsn` > '" ~ window.previous_lsn ~ "'" %}
    {% set guard = 'not exists (select 1 from ' ~ relation ~ later ~ ')' %}
    {% set count = 'select count(*) as row_count from ' ~ relation ~ later
        ~ " and `__$start_lsn` <= '" ~ window.to_lsn ~ "'" %}
    {% if dbt_cdc._reads_fast(instance) %}
        {% call statement('main', fetch_result=true) -%}
            {{ dbt_cdc._try_insert(relation, dbt_cdc._fast_change_rows(
                instance, window, dbt_cdc._log_relation(), dbt_cdc._state_relation('scan_transactions')
            ), none if dbt_cdc._is_first_writer(instance, window) else guard, count) }}
        {%- endcall %}
        {% set row_count = load_result('main').table.rows[0][0] %}
        {% if row_count is not none %}
            {% do return(row_count) %}
        {% endif %}
        {% do log('cdc: ' ~ instance.name ~ ': the fast statement failed, capturing with care') %}
    {% endif %}
    {% do return(dbt_cdc._main_write_and_fetch(
        dbt_cdc._insert_once(relation, rows, guard), count)[0].row_count) %}
{% endmacro %}


{#- Whether no row of the window can be there yet, so that no guard has to look: this run has opened the
    window, the instance is in the last publication, and no other process can write. The last is what the
    agent says of its embedded Spark. -#}
{% macro _is_first_writer(instance, window) %}
    {% do return(
        env_var('DBT_CDC_SINGLE_WRITER', 'false') == 'true'
        and window.get('is_opened_here', false)
        and instance.name | lower in window.published
    ) %}
{% endmacro %}


{#- `columns`: name -> type. -#}
{% macro _create_table_sql(relation, columns) -%}
    {%- set file_format = dbt_cdc._file_format() -%}
    {%- set create -%}
    create table if not exists {{ relation }} (
        {%- for name, data_type in columns.items() %}
        {{ dbt_cdc._column(name) }} {{ data_type }}{{ ',' if not loop.last }}
        {%- endfor %}
    )
    using {{ file_format }}
    {%- set properties = dbt_cdc._table_properties(columns) %}
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


{#- Names that Parquet does not take need Delta's column mapping; the window columns come first, so
    that they are among the columns with file statistics. -#}
{% macro _table_properties(columns) %}
    {% set properties = {} %}
    {% if modules.re.search('[ ,;{}()\n\t=]', columns | join('')) %}
        {% do properties.update({'delta.columnMapping.mode': 'name'}) %}
    {% endif %}
    {% do return(properties) %}
{% endmacro %}
