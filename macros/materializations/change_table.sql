{#- Appends the window's rows to the change table. A backfill spans several windows, and the table may
    have some of them, so it looks at each commit. -#}
{% materialization change_table, default %}
    {% set relation = this.incorporate(type='table') %}
    {% set instance = dbt_cdc._current_instance(model) %}
    {% do dbt_cdc._check_role(instance) %}
    {% set window = dbt_cdc._instance_window(instance, dbt_cdc.scan_window()) %}

    {{ run_hooks(pre_hooks) }}
    {#- a hook may have set another zone -#}
    {% do dbt_cdc._check_session_time_zone() if pre_hooks %}

    {% set existing = load_cached_relation(this) %}
    {% do dbt_cdc._check_not_lost(
        relation, dict(instance, capture_instance=instance.name)
    ) if existing is none and instance.name | lower in dbt_cdc._published_instances(dbt_cdc._published_state())
        and not dbt_cdc._is_in_catalog(relation) %}
    {% do dbt_cdc._make_missing(relation, existing, dbt_cdc._change_table_columns(instance), '__$start_lsn') %}

    {% set is_capturing = dbt_cdc._is_capturing(window) %}
    {#- an edit may have come behind the scan -#}
    {% if is_capturing and not window.is_checked %}
        {% set known = {instance.name | lower: instance.registered} %}
        {% do dbt_cdc._read_as_partial(known, window) %}
        {% do dbt_cdc._note_untold({instance.name | lower: instance}, known) %}
    {% endif %}
    {% if is_capturing and dbt_cdc._is_touched(instance, window) %}
        {% set rows = dbt_cdc._declared_rows(instance, dbt_cdc._as_written(compiled_code)) %}
        {% set encoded = dbt_cdc._with_encodings(instance, window) %}
        {% set is_later = "`__$start_lsn` > '" ~ window.previous_lsn ~ "'" %}
        {% set appended = dbt_cdc._append_once(
            relation, window, rows, is_later ~ " and `__$start_lsn` <= '" ~ window.to_lsn ~ "'",
            '`__$start_lsn` = appended.`__$start_lsn`' if window.is_backfill else is_later,
            dbt_cdc._raise_first_problem(encoded, dbt_cdc._checked_changes(encoded, window)),
            dbt_cdc._is_first_writer(instance, window)) %}
        {% do dbt_cdc._log_line(
            model.name ~ ' has rows of the open window already; SQL around change_table() that was edited meanwhile '
            ~ 'counts from the next window on'
        ) if appended.before and dbt_cdc._is_edited(model) %}
        {% do dbt_cdc._tell_lost_values(instance, window) %}
    {% endif %}

    {% do return(dbt_cdc._end_of_append(
        relation, instance, is_capturing, appended, existing, 'nothing to capture',
        dbt_cdc._grants_with_role(instance))) %}
{% endmaterialization %}


{#- A change table that was published is not made anew, empty: readers were told of its rows. -#}
{% macro _check_not_lost(relation, registered) %}
    {% do dbt_cdc.raise_cdc_error(
        22981, 'change table ' ~ relation ~ ' is not there, and readers have been told of its rows',
        'put it back (take back what was edited of the schema, alias or target; alter table ... rename to; restore '
        ~ 'it), or ' ~ dbt_cdc._begin_anew_advice(registered, '') ~ '; its consumers start over'
    ) %}
{% endmacro %}


{#- The rows of the model's SQL, in the order of the change table's columns. What is around change_table() may
    leave rows out and mask values; it gives the same columns, of types that the table's hold. -#}
{% macro _declared_rows(instance, rows) %}
    {% do return(rows) if not dbt_cdc._is_edited(model) %}
    {% set wanted = dbt_cdc._change_table_columns(instance) %}
    {% set described = run_query('describe query ' ~ rows).columns %}
    {% set found = described[0].values() | list %}
    {% do dbt_cdc.raise_cdc_error(
        22942, 'the SQL of model ' ~ model.name ~ ' gives the columns ' ~ found | join(', ')
        ~ ' where its YAML declares ' ~ wanted.keys() | join(', '),
        'put a filter or a mask around change_table() that gives the same columns'
    ) if found | map('lower') | sort != wanted.keys() | map('lower') | sort %}
    {% set types = dict(zip(found | map('lower'), described[1].values() | map('lower'))) %}
    {% for name, data_type in wanted.items()
        if not dbt_cdc._keeps_values(data_type | lower | trim, types[name | lower]) %}
        {% do dbt_cdc.raise_cdc_error(
            22942, 'the SQL of model ' ~ model.name ~ ' gives column ' ~ name ~ ' as ' ~ types[name | lower]
            ~ ', and its YAML declares ' ~ data_type ~ ', as which its values would be cut',
            'cast it to ' ~ data_type ~ ' if that is meant'
        ) %}
    {% endfor %}
    {% do return('select ' ~ dbt_cdc._quoted(wanted.keys()) | join(', ') ~ ' from (\n' ~ rows ~ '\n)') %}
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
