{#- Before a window is captured: new capture instances are entered into change_tables, captured_columns
    and index_columns; edits of known ones are refused; the window's DDL is followed. An instance counts
    as entered with its row in change_tables, the last of the three statements. -#}
{% macro _register_instances(window) %}
    {% set planned = dbt_cdc._plan_instances(window, enters_new=true) %}
    {% set new = planned.new %}
    {% do dbt_cdc._read_as_partial(planned.known, window) %}
    {% do dbt_cdc._note_untold(dbt_cdc._capture_instances(), planned.known) %}
    {% if new %}
        {% for instance in new %}{% do dbt_cdc._check_role(instance, is_new=true) %}{% endfor %}
        {% do dbt_cdc._forget_earlier_lives(new, planned.known, window) %}
        {% for instance in new %}
            {% do dbt_cdc._drop_outdated(instance.relation, dbt_cdc._change_table_columns(instance)) %}
        {% endfor %}
        {% do dbt_cdc._inherit_ddl_history(new, planned.known) %}
        {% do dbt_cdc._enter_instances(new) %}
        {% if not planned.known %}
            {% do dbt_cdc._make_jobs() %}
            {% do dbt_cdc._tell_of_jobs() %}
        {% endif %}
    {% endif %}
    {% do dbt_cdc._follow_schema_changes(planned.plans, window) %}
{% endmacro %}


{#- An instance that was complete until now: its functions are made anew before a row comes that may lack values. -#}
{% macro _read_as_partial(known, window) %}
    {% set edited = [] %}
    {% for name, instance in dbt_cdc._capture_instances().items() if name in known and name in window.published
        and instance.before_image == 'partial' and known[name].get('before_image') != 'partial' %}
        {% do edited.append(instance) %}
        {% do dbt_cdc._log_line(
            'updates of ' ~ instance.table ~ ' may lack values from now on, which net changes take from rows before: '
            ~ 'make fn_net_changes_' ~ dbt_cdc._object_name(instance.name) ~ ' anew where you have made it (dbt '
            ~ 'run-operation generate_wrapper_function)'
        ) if instance.supports_net_changes %}
    {% endfor %}
    {% do dbt_cdc._make_functions_anew(edited) %}
{% endmacro %}


{#- A disable_table that died may have left in the view what it told readers of an instance: of the new one of that
    name nothing is published. -#}
{% macro _forget_earlier_lives(new, known, window) %}
    {% set names = new | map(attribute='name') | map('lower') | list %}
    {% if window.published | select('in', names) | list %}
        {#- without any other instance the tables have no row to publish from -#}
        {% do dbt_cdc._publish_validity_intervals(window.previous_lsn) if known
            else run_query(dbt_cdc._validity_intervals_sql([], window.previous_lsn)) %}
        {% do window.update(published=window.published | reject('in', names) | list) %}
    {% endif %}
{% endmacro %}


{#- Rows that a killed run has left without their change_tables row are not entered twice; those of a YAML that was
    edited since go. -#}
{% macro _enter_instances(instances) %}
    {% set rows = {'captured_columns': [], 'index_columns': [], 'change_tables': []} %}
    {% for instance in instances %}
        {% set registered, names = instance.registered, instance.columns | map(attribute='name') | list %}
        {% set id = {'object_id': dbt_cdc._object_id(instance.name ~ '_ct')} %}
        {% for column in registered.columns %}
            {% do rows.captured_columns.append(dict(column, **id)) %}
        {% endfor %}
        {% for name in instance.index_columns %}
            {% do rows.index_columns.append(dict(
                id, column_name=name, index_ordinal=loop.index,
                column_id=registered.columns[names.index(name)].column_id)) %}
        {% endfor %}
        {% do rows.change_tables.append(dict(
            instance, version=0, source_object_id=dbt_cdc._object_id(instance.table), capture_instance=instance.name,
            start_lsn=registered.start_lsn, lost_lsn=registered.lost_lsn, has_drop_pending=false, create_date='now',
            partition_switch=instance.allow_partition_switch, **id)) %}
    {% endfor %}
    {% do dbt_cdc._forget_unlike(rows) %}
    {% for table, entered in rows.items() %}
        {% set ordinal = {'captured_columns': 'column_ordinal', 'index_columns': 'index_ordinal'}.get(table) %}
        {% do dbt_cdc._insert_state(table, entered, 'object_id = appended.object_id'
            ~ (' and ' ~ ordinal ~ ' = appended.' ~ ordinal if ordinal else '')) %}
    {% endfor %}
{% endmacro %}


{% macro _forget_unlike(rows) %}
    {% set ids, unlike = rows.change_tables | map(attribute='object_id') | join(', '), [] %}
    {% for table in ['captured_columns', 'index_columns'] %}
        {% do unlike.append('(select ' ~ graph.nodes['model.dbt_cdc.' ~ table].columns | join(', ') ~ ' from '
            ~ dbt_cdc._state_relation(table) ~ ' where object_id in (' ~ ids ~ ')'
            ~ ' and object_id not in (select object_id from '
            ~ dbt_cdc._state_relation('change_tables') ~ ')'
            ~ ('\nexcept\n' ~ dbt_cdc._state_rows(table, rows[table]) if rows[table] else '') ~ ')') %}
    {% endfor %}
    {% set found = dbt_cdc._fetch('select object_id from ' ~ unlike | join('\nunion select object_id from ')) %}
    {% for table in ['captured_columns', 'index_columns'] if found %}
        {% do dbt_cdc._delete_state(table, 'object_id in (' ~ found | map(attribute='object_id') | join(', ') ~ ')') %}
    {% endfor %}
{% endmacro %}
