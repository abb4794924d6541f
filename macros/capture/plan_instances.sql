{#- What is to be done with each instance in a window, only read: {known: what is registered, new: instances
    that are not, plans: what the window's DDL means, by name}. All instances get what is `registered` of
    them, or will be where this command `enters_new` ones; otherwise those have no plan. -#}
{% macro _plan_instances(window, enters_new) %}
    {% set known = dbt_cdc._registered_state(fromjson(window.registered)) if window.registered
        else dbt_cdc._registered_if_any() %}
    {% do dbt_cdc._reopen_ends(known, window) if dbt_cdc._is_building() %}
    {% set changes = dbt_cdc._read_schema_changes(window.schema_changes, window.log) %}
    {% set plans, new = {}, [] %}
    {% for name, instance in dbt_cdc._capture_instances().items() %}
        {% if name in known %}
            {% do dbt_cdc._check_unedited(instance, known[name], name in window.published) %}
            {% do dbt_cdc._check_goes_on(instance, known) if known[name].end_lsn %}
            {% do dbt_cdc._take_registered(instance, known[name]) %}
            {% do instance.update(needs_key=dbt_cdc._needs_key(instance, window)) %}
            {% do plans.update({name: dbt_cdc._plan_in_window(instance, window, changes)}) %}
            {% do dbt_cdc._check_capture_from(instance, plans[name], window) %}
            {% do dbt_cdc._check_has_its_log(instance, window)
                if dbt_cdc._instance_window(instance, window).is_backfill %}
            {% do plans[name].update(problem=dbt_cdc._problem_of_values(instance, plans[name], window))
                if not plans[name].problem %}
        {% else %}
            {% for other, row in known.items() if dbt_cdc._object_name(other) == dbt_cdc._object_name(name) %}
                {% do dbt_cdc._raise_taken(
                    instance.name, row.capture_instance, row.source_schema ~ '.' ~ row.source_name) %}
            {% endfor %}
            {% do new.append(instance) %}
        {% endif %}
    {% endfor %}
    {% do dbt_cdc._check_are_new(new) %}
    {% if new and enters_new %}
        {% do dbt_cdc._take_logged_names(new, dbt_cdc._log_relation()) %}
        {% set log_start = dbt_cdc._window_to_scan().get('log_start') or dbt_cdc._fetch(
            'select min(lsn) as lsn from ' ~ dbt_cdc._log_relation()
        )[0].lsn %}
        {% for instance in new %}
            {% do dbt_cdc._take_registered(
                instance, dbt_cdc._new_registration(instance, window, log_start, plans)) %}
            {% do instance.update(needs_key=dbt_cdc._needs_key(instance, window)) %}
            {% do plans.update({instance.name | lower: dbt_cdc._plan_in_window(instance, window, changes)}) %}
        {% endfor %}
    {% endif %}
    {% do dbt_cdc._check_records_before(plans, window) if enters_new or not new %}
    {% do dbt_cdc._take_up_ends(plans) %}
    {#- when all are known, as threads ask at once -#}
    {% do dbt_cdc._invocation_cache().update(plans=plans) %}
    {% do return({'known': known, 'new': new, 'plans': plans}) %}
{% endmacro %}


{#- What the schema changes of a window mean for an instance; of the whole log, where it backfills: those before its
    low end do not count. -#}
{% macro _plan_in_window(instance, window, changes) %}
    {% set is_backfill = dbt_cdc._instance_window(instance, window).is_backfill %}
    {% do dbt_cdc._check_told_transactions(dbt_cdc._zero_lsn(), window.to_lsn) if is_backfill %}
    {% set seen = dbt_cdc._schema_changes_since_log_start(window) if is_backfill else changes %}
    {% do return(dbt_cdc._plan_schema_changes(
        instance, instance.registered, seen, is_published=instance.name | lower in window.published)) %}
{% endmacro %}


{#- What a new instance starts with. One that is made because another of its table cannot follow a change
    takes over at that change, also under the name that the table was given. A log that has lost what came before it
    gives an instance nothing of that. -#}
{% macro _new_registration(instance, window, log_start, plans) %}
    {% set starts_at_log_start = instance.capture_from == 'log_start'
        or window.previous_lsn == dbt_cdc._zero_lsn() %}
    {% set taken_over = [] %}
    {% for name, plan in plans.items() if plan.problem
        and dbt_cdc._goes_on_with(instance, dbt_cdc._capture_instances()[name], plan.problem) %}
        {% do taken_over.append(plan.problem.lsn) %}
    {% endfor %}
    {% set start_lsn = log_start if starts_at_log_start
        else taken_over[0] if taken_over else [dbt_cdc.increment_lsn(window.previous_lsn), log_start] | max %}
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


{#- Whether each record names the instance's key. What is older than an instance that begins with the log may be older
    than the key; and logs that leave NULLs out say nothing by a name that is missing. -#}
{% macro _needs_key(instance, window) %}
    {% do return(dbt_cdc._switch_of_var('cdc_report_new_columns', true) and (instance.name | lower in window.published
        or instance.capture_from != 'log_start' and window.previous_lsn != dbt_cdc._zero_lsn())) %}
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
