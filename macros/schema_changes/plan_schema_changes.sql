{#- What the schema changes of a window mean for one capture instance. Nothing is written here:
    macros/schema_changes/follow_schema_changes.sql does, and the instance's model raises `problem`. -#}

{#- {columns: {name: {type, source_type, declared_type}}, history: [...], emptied_lsn, emptied_place, emptied_by,
    is_dropped, problem, is_new, sees_log_start}, the columns as they are after the changes. The commit at `emptied_lsn`
    has emptied the table, without a record of each row, by its record at `emptied_place`; `is_dropped` is none where
    nothing tells. A change that the change table cannot follow ends the plan; `problem` is {lsn, place, number, text},
    and later renames count in it alone.
    `registered` is what the metadata tables hold of the instance; until it is published it is new, and what a run that
    died has seen does not count: of one that begins with the log, nor does the low end that its publication has
    raised. -#}
{% macro _plan_schema_changes(instance, registered, changes, is_published=true) %}
    {% set plan = {'columns': {}, 'history': [], 'emptied_lsn': none, 'emptied_place': none,
        'is_dropped': none, 'problem': none, 'is_new': not is_published,
        'sees_log_start': not is_published and not registered.lost_lsn} %}
    {% for column in registered.columns %}
        {% do plan.columns.update({column.column_name: {
            'type': column.column_type, 'source_type': column.source_type if is_published else none,
            'declared_type': column.get('declared_type')
        }}) %}
    {% endfor %}
    {% set start_lsn = registered.start_lsn if is_published or instance.capture_from != 'log_start' %}
    {% for change in changes
        if dbt_cdc._source_of(change) == dbt_cdc._source_of(instance)
        and change.commit_lsn >= (start_lsn or '')
        and change.commit_lsn < (registered.end_lsn or '0xG') and not plan.problem %}
        {#- what a publication that died has emptied begins there, by another table's rename: the DROP before it is
            below -#}
        {% set was_dropped = registered.has_drop_pending or registered.lost_lsn == change.commit_lsn
            and dbt_cdc._old_name_of_table(change.ddl_command or '', instance.source_name)
            if plan.is_dropped is none else plan.is_dropped %}
        {% set effect = dbt_cdc._effect_of_change(instance, plan, change, changes, was_dropped) %}
        {% do plan.history.append(dict(change, is_update=effect.is_update)) %}
        {% if effect.problem %}
            {% do plan.update(problem=dict(effect.problem, lsn=change.commit_lsn, place=change.lsn)) %}
        {% elif change.operation == 'TRUNCATE' %}
            {% do plan.update(
                emptied_lsn=change.commit_lsn, emptied_place=change.lsn, emptied_by='truncated') %}
        {% else %}
            {% set other = dbt_cdc._old_name_of_table(change.ddl_command, instance.source_name) %}
            {% do plan.update(
                emptied_lsn=change.commit_lsn, emptied_place=change.lsn,
                emptied_by="dropped, and '" ~ other ~ "' took its name" if other else 'dropped and made again'
            ) if change.is_replaced or change.columns and was_dropped %}
            {% do plan.columns.update(effect.columns) %}
            {% do plan.update(is_dropped=effect.is_dropped) if effect.is_dropped is not none %}
        {% endif %}
    {% endfor %}
    {% do dbt_cdc._follow_renames(plan, instance, changes) if plan.problem %}
    {% do dbt_cdc._widen_as_given(instance, plan) %}
    {% do return(plan) %}
{% endmacro %}


{#- A log without DDL does not tell that a type has changed: then the YAML does. A new instance has the type to which
    its YAML was corrected. -#}
{% macro _widen_as_given(instance, plan) %}
    {% for column in instance.columns or [] if column.given_type %}
        {% set planned = plan.columns[column.name] %}
        {% set is_corrected = plan.is_new and column.given_type != planned.declared_type %}
        {% if is_corrected or dbt_cdc._widens_to(planned.type, column.given_type) %}
            {% do planned.update(type=column.given_type) %}
            {% do planned.update(declared_type=column.given_type) if is_corrected %}
            {% do plan.update(is_widened=true) %}
        {% endif %}
    {% endfor %}
{% endmacro %}


{#- {is_update, columns (only those that differ), is_dropped, problem} of one record. `is_update`: a
    captured column got another type. `changes` are those of the window. -#}
{% macro _effect_of_change(instance, plan, change, changes, was_dropped) %}
    {% set effect = {'is_update': false, 'columns': {}, 'is_dropped': change.is_dropped,
        'problem': none} %}
    {% set text = dbt_cdc._without_literals(change.ddl_command) %}
    {% do effect.update(problem=dbt_cdc._refused_change(instance, plan, change, changes, was_dropped))
        if change.operation == 'DDL' %}
    {% if change.operation == 'TRUNCATE' or effect.problem or not change.columns %}
        {#- of what lists no columns the text tells -#}
        {% for name in plan.columns if not (effect.problem or change.columns)
            and dbt_cdc._alters_column(text, name) %}
            {% do effect.update(is_update=true) %}
        {% endfor %}
        {% do return(effect) %}
    {% endif %}
    {% set types = {} %}
    {% for column in change.columns %}
        {% do types.update({column.name | lower: column.type | string}) %}
    {% endfor %}
    {% for name, column in plan.columns.items() if name | lower in types %}
        {% set source_type = types[name | lower] %}
        {% set now = dict(column, source_type=source_type) %}
        {% if dbt_cdc._is_retyped(name, column, source_type, text) %}
            {% do effect.update(is_update=true) %}
            {% set wanted = dbt_cdc._type_of_ddl(source_type) %}
            {#- a column that does not widen goes on as long as the values fit -#}
            {% do now.update(type=wanted) if dbt_cdc._widens_to(column.type, wanted) %}
        {% endif %}
        {% do effect.columns.update({name: now}) if now != column %}
    {% endfor %}
    {% do return(effect) %}
{% endmacro %}


{#- Whether a column has another type than before: by the list of columns of the DDL before this one;
    without one by the statement's text; without that, where the change table's column is too narrow. -#}
{% macro _is_retyped(name, column, source_type, text) %}
    {% set given = modules.re.sub('\\s+', '', source_type | lower) %}
    {% if column.source_type %}
        {% do return(modules.re.sub('\\s+', '', column.source_type | lower) != given) %}
    {% elif text %}
        {% do return(dbt_cdc._alters_column(text, name)) %}
    {% endif %}
    {% do return(dbt_cdc._widens_to(column.type, dbt_cdc._type_of_ddl(source_type))) %}
{% endmacro %}


{#- What SQL Server refuses in an enabled table; other databases allow it, so it stands in their logs. A new
    instance was made knowing what its first window holds: its key and its table's name are meant as they
    are. -#}
{% macro _refused_change(instance, plan, change, changes, was_dropped) %}
    {% set renamed = dbt_cdc._renamed_columns(change.ddl_command) %}
    {% set new_name = dbt_cdc._new_name_of_table(change.ddl_command, instance.source_name) %}
    {% set other = dbt_cdc._name_is_taken_by(change, changes) if new_name
        else dbt_cdc._old_name_of_table(change.ddl_command, instance.source_name)
        if not was_dropped and plan.columns.values() | selectattr('source_type') | list %}
    {% if other and not plan.is_new %}
        {% do return({'number': 22931, 'text': "'" ~ other ~ "' took its name"
            ~ (", and it is '" ~ new_name ~ "' now" if new_name)
            ~ ', as where a tool copies a table to alter it; if the rows are others than before, consumers '
            ~ 'start over (--full-refresh)'}) %}
    {% elif new_name and not plan.is_new %}
        {% do return({'number': 22931, 'text': "the table was renamed to '" ~ new_name
            ~ "', and later changes bear that name", 'new_name': new_name}) %}
    {% endif %}
    {% set spelled = (change.columns or []) | map(attribute='name') | list %}
    {#- Spark's parser of JSON tells letter case apart: each later value would be NULL; other statements may spell a
        name as they like -#}
    {% set spelling = dict(zip(spelled | map('lower'), spelled)) %}
    {% set respelled = spelling if dbt_cdc._makes_table(change.ddl_command)
        else dbt_cdc._respelled_columns(change.ddl_command) %}
    {% for column in plan.columns if not plan.is_new and column not in spelled and column | lower in spelling
        and column | lower in respelled %}
        {% do return({'number': 4928, 'text': "captured column '" ~ column ~ "' was renamed to '"
            ~ spelling[column | lower] ~ "'", 'renamed': {column | lower: column | lower}}) %}
    {% endfor %}
    {% for name in dbt_cdc._columns_gone(plan, change, changes)
        + dbt_cdc._names_taken(instance, plan, change, spelling) %}
        {% if name | lower in renamed %}
            {% do return({'number': 4928, 'text': "captured column '" ~ name
                ~ "' was renamed to '" ~ renamed[name | lower] ~ "'", 'renamed': renamed}) %}
        {% elif name in instance.index_columns %}
            {% do return({'number': 22983, 'text': "key column '" ~ name ~ "' was dropped"}) %}
        {% endif %}
    {% endfor %}
    {% if not plan.is_new and instance.index_columns
        and dbt_cdc._drops_key(change.ddl_command, instance.index_name) %}
        {% do return({'number': 22979, 'text': 'the key was dropped'}) %}
    {% endif %}
    {% do return(none) %}
{% endmacro %}


{#- The captured columns that the record does not list and that were there before it: an earlier one listed
    them, or there is no earlier one and the table is older than what the instance sees of the log. What later ones of
    the window list, a new instance was made for. -#}
{% macro _columns_gone(plan, change, changes) %}
    {% set present = (change.columns or []) | map(attribute='name') | map('lower') | list %}
    {% set is_first = not plan.columns.values() | selectattr('source_type') | list %}
    {% set gone, later = [], [] %}
    {% for other in changes if plan.is_new and other.lsn > change.lsn
        and dbt_cdc._source_of(other) == dbt_cdc._source_of(change) %}
        {% do later.extend((other.columns or []) | map(attribute='name') | map('lower')) %}
    {% endfor %}
    {% for name, column in plan.columns.items() if present and name | lower not in present
        and (column.source_type or is_first and not plan.sees_log_start and name | lower not in later) %}
        {% do gone.append(name) %}
    {% endfor %}
    {% do return(gone) %}
{% endmacro %}


{#- The captured columns that a statement of this table renames and whose names other columns have now. -#}
{% macro _names_taken(instance, plan, change, spelling) %}
    {% set renamed = dbt_cdc._renamed_columns(
        dbt_cdc._statements_of(change.ddl_command, instance.source_name)) %}
    {% set taken = [] %}
    {% for name in plan.columns if not plan.is_new and name | lower in spelling
        and renamed.get(name | lower) in spelling %}
        {% do taken.append(name) %}
    {% endfor %}
    {% do return(taken) %}
{% endmacro %}


{% macro _raise_schema_problem(instance, problem) %}
    {% do dbt_cdc.raise_cdc_error(
        problem.number, "capture instance '" ~ instance.name ~ "' cannot follow table "
        ~ instance.table ~ ' from the commit at ' ~ problem.lsn ~ ' on: ' ~ problem.text,
        problem.advice or dbt_cdc._second_instance_advice(
            dict(instance, source_name=problem.new_name or instance.source_name), problem.renamed)
    ) %}
{% endmacro %}


{#- The columns whose source has by now a type of which they do not hold all values: {name: source type}. -#}
{% macro _outgrown_columns(plan) %}
    {% set outgrown = {} %}
    {% for name, column in plan.get('columns', {}).items() if column.source_type and column.type != 'string'
        and not dbt_cdc._holds_type(column.type, dbt_cdc._type_of_ddl(column.source_type)) %}
        {% do outgrown.update({name: column.source_type}) %}
    {% endfor %}
    {% do return(outgrown) %}
{% endmacro %}


{#- The same where the log has no DDL that tells: the columns that another instance of the table has with such a
    type. -#}
{% macro _wider_elsewhere(instance, plan) %}
    {% set wider = {} %}
    {% for other in dbt_cdc._instances_of([dbt_cdc._source_of(instance)]) if other.name != instance.name %}
        {% for column in other.columns if column.name in plan.columns
            and not plan.columns[column.name].source_type
            and not dbt_cdc._holds_type(plan.columns[column.name].type, column.data_type | lower) %}
            {% do wider.update({column.name: column.data_type | lower}) %}
        {% endfor %}
    {% endfor %}
    {% do return(wider) %}
{% endmacro %}
