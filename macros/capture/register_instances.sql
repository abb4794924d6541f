{#- Before a window is captured: new capture instances are entered into change_tables, captured_columns
    and index_columns; edits of known ones are refused; the window's DDL is followed. An instance counts
    as entered with its row in change_tables, the last of the three statements. -#}
{% macro _register_instances(window) %}
    {% set planned = dbt_cdc._plan_instances(window, enters_new=true) %}
    {% set new = planned.new %}
    {% do dbt_cdc._note_untold(dbt_cdc._capture_instances(), planned.known) %}
    {% if new %}
        {% for instance in new %}{% do dbt_cdc._check_role(instance) %}{% endfor %}
        {% do dbt_cdc._forget_earlier_lives(new, window) %}
        {% do dbt_cdc._enter_instances(new) %}
        {% do dbt_cdc._inherit_ddl_history(new) %}
        {% do dbt_cdc._tell_of_jobs() if not planned.known %}
    {% endif %}
    {% do dbt_cdc._follow_schema_changes(planned.plans, window) %}
{% endmacro %}


{#- A disable_table that died may have left in the view what it told readers of an instance: of the new one of that
    name nothing is published. -#}
{% macro _forget_earlier_lives(new, window) %}
    {% set names = new | map(attribute='name') | map('lower') | list %}
    {% if window.published | select('in', names) | list %}
        {% do dbt_cdc._publish_validity_intervals(window.previous_lsn) %}
        {% do window.update(published=window.published | reject('in', names) | list) %}
    {% endif %}
{% endmacro %}


{#- What is to be done with each instance in a window, only read: {known: what is registered, new: instances
    that are not, plans: what the window's DDL means, by name}. All instances get what is `registered` of
    them, or will be where this command `enters_new` ones; otherwise those have no plan. -#}
{% macro _plan_instances(window, enters_new) %}
    {% set known = dbt_cdc._registered_state(fromjson(window.registered)) if window.registered
        else dbt_cdc._registered_if_any() %}
    {% set changes = dbt_cdc._read_schema_changes(window.schema_changes, window.log) %}
    {% set plans, new = {}, [] %}
    {% for name, instance in dbt_cdc._capture_instances().items() %}
        {% if name in known %}
            {% do dbt_cdc._check_unedited(instance, known[name], name in window.published) %}
            {% do dbt_cdc._check_goes_on(instance, known) if known[name].end_lsn %}
            {% do dbt_cdc._take_registered(instance, known[name]) %}
            {% do plans.update({name: dbt_cdc._plan_in_window(instance, window, changes)}) %}
            {% do dbt_cdc._check_capture_from(instance, plans[name], window) %}
            {% do plans[name].update(problem=dbt_cdc._problem_of_values(instance, plans[name], window))
                if not plans[name].problem %}
        {% else %}
            {% for other, row in known.items() if dbt_cdc._object_name(other) == dbt_cdc._object_name(name) %}
                {% do dbt_cdc._raise_taken(
                    instance.name, row.capture_instance, row.source_schema ~ '.' ~ row.source_name) %}
            {% endfor %}
            {% do dbt_cdc._check_is_new(instance) %}
            {% do new.append(instance) %}
        {% endif %}
    {% endfor %}
    {% if new and enters_new %}
        {% do dbt_cdc._take_logged_names(new, dbt_cdc._log_relation()) %}
        {% set log_start = dbt_cdc._window_to_scan().get('log_start') or dbt_cdc._fetch(
            'select min(lsn) as lsn from ' ~ dbt_cdc._log_relation()
        )[0].lsn %}
        {% for instance in new %}
            {% do dbt_cdc._take_registered(
                instance, dbt_cdc._new_registration(instance, window, log_start, plans)) %}
            {% do plans.update({instance.name | lower: dbt_cdc._plan_in_window(instance, window, changes)}) %}
        {% endfor %}
    {% endif %}
    {#- when all are known, as threads ask at once -#}
    {% do dbt_cdc._invocation_cache().update(plans=plans) %}
    {% do return({'known': known, 'new': new, 'plans': plans}) %}
{% endmacro %}


{#- A change table with rows that change_tables does not know is of an earlier life, or the state is lost: its rows
    would stand for those of the window. Another run may have entered the instance meanwhile. -#}
{% macro _check_is_new(instance) %}
    {% if dbt_cdc._has_rows(instance.relation) and instance.name | lower not in dbt_cdc._registered_if_any() %}
        {% do dbt_cdc.raise_cdc_error(
            22906, 'change table ' ~ instance.relation ~ ' has rows, and ' ~ dbt_cdc._state_relation('change_tables')
            ~ " has no capture instance '" ~ instance.name ~ "'",
            'put the state back (take back what was edited of its schema or the target; restore it); or drop the '
            ~ 'change table, to begin anew'
        ) %}
    {% endif %}
{% endmacro %}


{#- What the schema changes of a window mean for an instance; of the whole log, where it backfills: those before its
    low end do not count. -#}
{% macro _plan_in_window(instance, window, changes) %}
    {% set seen = dbt_cdc._schema_changes_since_log_start(window)
        if dbt_cdc._instance_window(instance, window).is_backfill else changes %}
    {% do return(dbt_cdc._plan_schema_changes(
        instance, instance.registered, seen, is_published=instance.name | lower in window.published)) %}
{% endmacro %}


{#- An instance that ended because a run had no model of it does not go on by itself. Where no other one captures its
    table, and no change of the table's columns has ended it, that is an error. -#}
{% macro _check_goes_on(instance, known) %}
    {% set registered, others = known[instance.name | lower], [] %}
    {% for name, other in dbt_cdc._capture_instances().items()
        if other.table == instance.table and not (known.get(name) or {}).get('end_lsn') %}
        {% do others.append(name) %}
    {% endfor %}
    {% if not others and not dbt_cdc._fetch('select 1 from ' ~ dbt_cdc._state_relation('ddl_history')
        ~ ' where object_id = ' ~ registered.object_id ~ " and ddl_lsn >= '" ~ registered.end_lsn ~ "' limit 1") %}
        {% do dbt_cdc.raise_cdc_error(
            22985, 'table ' ~ instance.table ~ " is not captured any more: capture instance '" ~ instance.name
            ~ "' ended before " ~ registered.end_lsn ~ ', when a run had no model of it',
            dbt_cdc._begin_anew_advice(registered, '') ~ ' (with capture_from: log_start it takes what the log still '
            ~ 'holds); its consumers start over. Or keep what it has beside a second instance (enable_table)'
        ) %}
    {% endif %}
{% endmacro %}


{#- Where an instance begins is fixed when it is entered, also where its YAML says something else before its first
    publication. What a publication that died has lost of it (`emptied_lsn`) is no edit. -#}
{% macro _check_capture_from(instance, plan, window) %}
    {% set registered = instance.registered %}
    {#- one that was entered with log_start has lost what is before the log -#}
    {% if plan.is_new and instance.capture_from == 'log_start' and registered.lost_lsn
        and registered.lost_lsn != plan.emptied_lsn and registered.lost_lsn <= window.previous_lsn
        and dbt_cdc._fetch('select 1 from ' ~ dbt_cdc._log_relation() ~ " where lsn < '" ~ registered.start_lsn
            ~ "' limit 1") %}
        {% do dbt_cdc.raise_cdc_error(
            22963, "capture instance '" ~ instance.name ~ "' was entered with capture_from: now and begins at "
            ~ registered.start_lsn ~ ', its YAML says log_start by now',
            'take the edit back, or ' ~ dbt_cdc._begin_anew_advice(registered)
        ) %}
    {% elif plan.is_new and instance.capture_from == 'now' and not registered.lost_lsn
        and window.previous_lsn != dbt_cdc._zero_lsn() %}
        {% do dbt_cdc._log_line(
            'capture instance ' ~ instance.name ~ " begins at the log's start, as when it was entered; to begin at "
            ~ "this window, as its YAML says, " ~ dbt_cdc._begin_anew_advice(registered)
        ) %}
    {% endif %}
{% endmacro %}


{#- What a new instance starts with. One that is made because another of its table cannot follow a change
    takes over at that change, also under the name that the table was given. -#}
{% macro _new_registration(instance, window, log_start, plans) %}
    {% set starts_at_log_start = instance.capture_from == 'log_start'
        or window.previous_lsn == dbt_cdc._zero_lsn() %}
    {% set taken_over = [] %}
    {% for name, plan in plans.items() if plan.problem
        and dbt_cdc._goes_on_with(instance, dbt_cdc._capture_instances()[name], plan.problem) %}
        {% do taken_over.append(plan.problem.lsn) %}
    {% endfor %}
    {% set start_lsn = log_start if starts_at_log_start
        else taken_over[0] if taken_over else dbt_cdc.increment_lsn(window.previous_lsn) %}
    {% set columns = [] %}
    {% for column in instance.columns %}
        {% set data_type = column.data_type | lower %}
        {% do columns.append({
            'column_ordinal': loop.index, 'column_name': column.name, 'column_type': data_type,
            'declared_type': data_type, 'source_type': none, 'is_computed': dbt_cdc._is_computed(column),
            'column_id': dbt_cdc._column_meta(column).get('column_id', loop.index),
        }) %}
    {% endfor %}
    {% do return({
        'columns': columns, 'start_lsn': start_lsn, 'end_lsn': none, 'has_drop_pending': false,
        'lost_lsn': dbt_cdc._last_commit_before(log_start, window) if starts_at_log_start
            else dbt_cdc.decrement_lsn(start_lsn),
    }) %}
{% endmacro %}


{#- The log may begin behind what was captured before: of that an instance that begins with the log has nothing. -#}
{% macro _last_commit_before(log_start, window) %}
    {% set known = [] %}
    {#- cleanup removes from some what others still tell -#}
    {% for table, column in [('lsn_time_mapping', 'start_lsn'), ('scan_transactions', 'commit_lsn'),
        ('scan_sessions', 'end_lsn'), ('change_tables', 'lost_lsn')]
        if window.previous_lsn != dbt_cdc._zero_lsn() and dbt_cdc._has_state(table) %}
        {% do known.append('select ' ~ column ~ ' as lsn from ' ~ dbt_cdc._state_relation(table)) %}
    {% endfor %}
    {% do return(dbt_cdc._fetch(
        'select max(lsn) as lsn from (' ~ known | join(' union all ') ~ ") where lsn < '" ~ log_start ~ "'"
    )[0].lsn if known else none) %}
{% endmacro %}


{#- From here on an instance has the types of its change table, which DDL may have widened, and the log's names. -#}
{% macro _take_registered(instance, registered) %}
    {% set columns = [] %}
    {% for column in registered.columns %}
        {% set given = instance.columns[loop.index0] %}
        {% do columns.append(dict(
            given, name=column.column_name, data_type=column.column_type, given_type=given.data_type | lower)) %}
    {% endfor %}
    {% do instance.update(registered=registered, columns=columns) %}
    {% do instance.update(index_columns=registered.index_columns) if registered.index_columns %}
{% endmacro %}


{#- Rows that a killed run has left without their change_tables row are not entered twice. -#}
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
    {% for table, entered in rows.items() %}
        {% do dbt_cdc._insert_state(table, entered, 'object_id = appended.object_id') %}
    {% endfor %}
{% endmacro %}
