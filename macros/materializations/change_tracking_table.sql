{#- Appends the window's versions to the side table. -#}
{% materialization change_tracking_table, default %}
    {% set relation = this.incorporate(type='table') %}
    {% set tracked = dbt_cdc._tracked_table(model) %}
    {% set window = dict(dbt_cdc.scan_window(), log=dbt_cdc._log_relation()) %}

    {{ run_hooks(pre_hooks) }}
    {#- a hook may have set another zone -#}
    {% do dbt_cdc._check_session_time_zone() if pre_hooks %}

    {#- rows go into the table by the places of the key's columns, masks by those of all: the scan may be left out -#}
    {% set registered = (window.versions or {}).get('tables', {}).get(tracked.name) %}
    {% do dbt_cdc._refuse_tracked_edit(tracked, registered, keeps_places=true)
        if registered and not window.is_checked %}
    {% set existing = load_cached_relation(this) %}
    {% if existing is none and tracked.key in dbt_cdc._tracking_state().min_valid_versions
        and not dbt_cdc._is_in_catalog(relation) %}
        {% do dbt_cdc.raise_cdc_error(
            4997, 'side table ' ~ relation ~ ' is not there, and clients have been told of its versions',
            'put it back (take back what was edited of the schema, alias or target; restore it); or begin anew: take '
            ~ 'models/' ~ model.name ~ '.sql, its YAML and its name in cdc_tracked_tables away, dbt run, '
            ~ 'disable_change_tracking, and put them back'
        ) %}
    {% endif %}
    {% do dbt_cdc._make_missing(relation, existing, dbt_cdc._side_table_columns(tracked), 'sys_change_version') %}

    {% set is_capturing = dbt_cdc._is_capturing(window) %}
    {% if is_capturing and registered and dbt_cdc._is_touched(tracked, window) %}
        {% do dbt_cdc._check_key_types(tracked, this) if existing is not none %}
        {% do dbt_cdc._check_tracked_names_of_window(window, [dbt_cdc._tracked_tables()[tracked.name]])
            if not window.is_checked %}
        {% set encoded = dbt_cdc._with_encodings(tracked, window) %}
        {% set is_later = 'sys_change_version > ' ~ window.versions.base %}
        {% set appended = dbt_cdc._append_once(
            relation, window, dbt_cdc._as_written(compiled_code), is_later, is_later,
            dbt_cdc._raise_first_problem(encoded, dbt_cdc._checked_events(encoded, window))) %}
    {% endif %}

    {% do return(dbt_cdc._end_of_append(relation, tracked, is_capturing, appended, existing, 'nothing to track')) %}
{% endmaterialization %}


{#- Refuses a key column of another type than its table has, which would store its values as that. -#}
{% macro _check_key_types(tracked, relation) %}
    {% set kept = {} %}
    {% for column in dbt_cdc._table_columns(relation) %}
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
