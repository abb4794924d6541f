{#- Carries the window's DDL into change tables and metadata, before any row of the window is captured.
    Each statement can be repeated: what was done already is not done twice. What an instance cannot
    follow is raised by its own model, so that the others go on. -#}
{% macro _follow_schema_changes(plans, window) %}
    {% for name, plan in plans.items() if plan.history or plan.problem or plan.is_widened %}
        {% set instance = dbt_cdc._capture_instances()[name] %}
        {% do dbt_cdc._tell_of_outgrown_columns(instance, plan) %}
        {% do dbt_cdc._widen_columns(instance, plan) %}
        {% do dbt_cdc._enter_ddl_history(instance, plan.history) if plan.history %}
        {% do dbt_cdc._enter_column_types(instance, plan, window) %}
        {#- One that cannot follow ends there where another one of its table goes on: it keeps what it has, and the
            window is published without the rest of it. Else `problem` stays, and its model raises it. -#}
        {% if plan.problem and dbt_cdc._successor_of(instance, plan.problem, plans) %}
            {% do dbt_cdc._update_metadata(
                'change_tables', instance, {'end_lsn': dbt_cdc._literal(plan.problem.lsn)}) %}
            {% do instance.registered.update(end_lsn=plan.problem.lsn) %}
            {% do plan.update(problem=none) %}
        {% endif %}
    {% endfor %}
{% endmacro %}


{% macro _tell_of_outgrown_columns(instance, plan) %}
    {% set outgrown = dbt_cdc._outgrown_columns(plan) %}
    {% for column in instance.registered.columns
        if column.column_name in outgrown and outgrown[column.column_name] != column.source_type %}
        {% do dbt_cdc._log_line(
            "column '" ~ column.column_name ~ "' of " ~ instance.table ~ ' is ' ~ outgrown[column.column_name]
            ~ ' by now; ' ~ instance.name ~ ' keeps it as ' ~ column.column_type
            ~ ' as long as the values fit; a second instance has the new type (dbt run-operation enable_table)'
        ) %}
    {% endfor %}
{% endmacro %}


{#- A new instance's table is made with the types that the window leaves; one that is there has no rows where a type
    is no wider one. -#}
{% macro _widen_columns(instance, plan) %}
    {% set widened, is_wider = {}, [] %}
    {% for column in instance.registered.columns
        if plan.columns[column.column_name].type != column.column_type %}
        {% set now = plan.columns[column.column_name].type %}
        {% do widened.update({column.column_name: now}) %}
        {% do is_wider.append(dbt_cdc._widens_to(column.column_type, now)) %}
    {% endfor %}
    {% set present = load_cached_relation(instance.relation) %}
    {% if present is not none and false in is_wider %}
        {% do adapter.drop_relation(present) %}
    {% elif present is not none %}
        {% do dbt_cdc._alter_types(instance.relation, widened) %}
    {% endif %}
    {% if widened %}
        {% set columns = [] %}
        {% for column in instance.columns %}
            {% do columns.append(dict(column, data_type=plan.columns[column.name].type)) %}
        {% endfor %}
        {% do instance.update(columns=columns) %}
        {#- those of a new one come with its publication -#}
        {% if not plan.is_new %}
            {% do dbt_cdc._log_line(
                instance.name ~ ' has wider types: make fn_all_changes_' ~ dbt_cdc._object_name(instance.name)
                ~ ' and fn_net_changes_... anew where you have made them, for they cut values to the old ones (dbt '
                ~ 'run-operation generate_wrapper_function)'
            ) %}
            {% do dbt_cdc._make_functions_anew([instance]) %}
        {% endif %}
    {% endif %}
{% endmacro %}


{% macro _enter_ddl_history(instance, history) %}
    {% set rows = [] %}
    {% for change in history %}
        {% do rows.append({
            'source_object_id': dbt_cdc._object_id(instance.table),
            'object_id': dbt_cdc._object_id(instance.name ~ '_ct'), 'required_column_update': change.is_update,
            'ddl_command': change.ddl_command or change.operation ~ ' ' ~ instance.table,
            'ddl_lsn': change.lsn, 'ddl_time': change.record_time,
        }) %}
    {% endfor %}
    {% do dbt_cdc._insert_state(
        'ddl_history', rows, 'object_id = appended.object_id and ddl_lsn = appended.ddl_lsn') %}
{% endmacro %}


{#- The types as they are now: of the change table's columns, and of the source's. -#}
{% macro _enter_column_types(instance, plan, window) %}
    {% set values = {} %}
    {% for name in ['column_type', 'source_type', 'declared_type'] %}
        {% set cases = [] %}
        {% for column in instance.registered.columns %}
            {% set now = plan.columns[column.column_name]['type' if name == 'column_type' else name] %}
            {% do cases.append('when ' ~ column.column_ordinal ~ ' then ' ~ dbt_cdc._literal(now))
                if now != column[name] %}
        {% endfor %}
        {% do values.update({
            name: 'case column_ordinal ' ~ cases | join(' ') ~ ' else ' ~ name ~ ' end'}) if cases %}
    {% endfor %}
    {% do dbt_cdc._update_metadata('captured_columns', instance, values, window) %}
{% endmacro %}


{#- Sets columns of the rows that a metadata table has of an instance. What a window says of them is older state
    where others have opened a later one. -#}
{% macro _update_metadata(table, instance, values, window=none) %}
    {% do dbt_cdc._update_state(
        table, values, 'object_id = ' ~ dbt_cdc._object_id(instance.name ~ '_ct'),
        'select 1 from ' ~ dbt_cdc._state_relation('scan_transactions') ~ " where window_to_lsn > '"
        ~ window.to_lsn ~ "'" if window) %}
{% endmacro %}


{#- Where a run that did not publish its window has let an instance end in it, the window is asked once more: the
    instance that was to go on may be gone by now, or another one. -#}
{% macro _reopen_ends(known, window) %}
    {% for registered in known.values() if (registered.end_lsn or '') > dbt_cdc.increment_lsn(window.previous_lsn) %}
        {% do registered.update(unpublished_end_lsn=registered.end_lsn, end_lsn=none) %}
    {% endfor %}
{% endmacro %}


{#- Such an end counts where the instance still cannot follow, and another one goes on; once its names are checked
    (`is_last`), also without a change that it cannot follow. -#}
{% macro _take_up_ends(plans, is_last=false) %}
    {% for name, plan in plans.items() %}
        {% set instance = dbt_cdc._capture_instances()[name] %}
        {% set registered = instance.registered %}
        {#- another thread may have taken it up -#}
        {% if registered.unpublished_end_lsn and (
            plan.problem.lsn == registered.unpublished_end_lsn
                and (registered.end_lsn or dbt_cdc._successor_of(instance, plan.problem, plans))
            if plan.problem else is_last) %}
            {% do registered.update(end_lsn=registered.unpublished_end_lsn) %}
            {% do plan.update(problem=none) %}
        {% endif %}
    {% endfor %}
{% endmacro %}


{#- Another instance that goes on with the table and captures from the problem's commit on. One that was there before
    may be there for something else. -#}
{% macro _successor_of(instance, problem, plans) %}
    {% for name, other in dbt_cdc._capture_instances().items()
        if other.name != instance.name and name in plans and dbt_cdc._goes_on_with(other, instance, problem)
        and other.registered.start_lsn <= problem.lsn and not other.registered.end_lsn
        and (plans[name].problem or {}).get('lsn', '0xG') > problem.lsn
        and (plans[name].is_new or dbt_cdc._captures_what(other, instance, problem)) %}
        {% do return(other.name) %}
    {% endfor %}
    {% do return(none) %}
{% endmacro %}


{#- Whether an instance captures the columns because of which another one cannot go on, by their names from there
    on. -#}
{% macro _captures_what(other, instance, problem) %}
    {% set captured = other.columns | map(attribute='name') | map('lower') | list %}
    {% for column in instance.columns if column.name | lower in (problem.renamed or {})
        and problem.renamed[column.name | lower] not in captured %}
        {% do return(false) %}
    {% endfor %}
    {% do return(true) %}
{% endmacro %}


{#- Whether an instance has the table of another one, by its name or the one that it was given; a statement does
    not tell the letter case of that. -#}
{% macro _goes_on_with(other, instance, problem) %}
    {% do return(
        dbt_cdc._source_of(other) == dbt_cdc._source_of(instance)
        or other.source_schema == instance.source_schema
        and other.source_name | lower == (problem.new_name or '') | lower
    ) %}
{% endmacro %}


{#- A new instance has the history of its table that an older one has. -#}
{% macro _inherit_ddl_history(instances, known) %}
    {% set target = dbt_cdc._state_relation('ddl_history') %}
    {% set sources = [] %}
    {% for registered in known.values() %}{% do sources.append(dbt_cdc._source_of(registered)) %}{% endfor %}
    {% for instance in instances if dbt_cdc._source_of(instance) in sources %}
        {% set source_id = dbt_cdc._object_id(instance.table) %}
        {% set object_id = dbt_cdc._object_id(instance.name ~ '_ct') %}
        {% do run_query(dbt_cdc._in_turn(
            'insert into ' ~ target ~ ' by name select source_object_id, ' ~ object_id ~ ' as object_id, '
            ~ 'bool_or(required_column_update) as required_column_update, ddl_command, ddl_lsn, ddl_time from '
            ~ target ~ ' where source_object_id = ' ~ source_id ~ ' and ddl_lsn not in (select ddl_lsn from '
            ~ target ~ ' where object_id = ' ~ object_id
            ~ ') group by source_object_id, ddl_command, ddl_lsn, ddl_time'
        )) %}
    {% endfor %}
{% endmacro %}
