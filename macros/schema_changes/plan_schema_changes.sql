{#- What the schema changes of a window mean for one capture instance. Nothing is written here:
    macros/schema_changes/follow_schema_changes.sql does, and the instance's model raises `problem`. -#}

{#- {columns: {name: {type, source_type}}, history: [...], truncated_lsn, is_dropped, problem}, the
    columns as they are after the changes. A change that the change table cannot follow ends the plan;
    `problem` is {lsn, number, text}. `registered` is what the metadata tables hold of the instance. -#}
{% macro _plan_schema_changes(instance, registered, changes) %}
    {% set plan = {'columns': {}, 'history': [], 'truncated_lsn': none, 'is_dropped': none,
        'problem': none} %}
    {% for column in registered.columns %}
        {% do plan.columns.update({column.column_name: {
            'type': column.column_type, 'source_type': column.source_type
        }}) %}
    {% endfor %}
    {% for change in changes
        if dbt_cdc._source_of(change) == dbt_cdc._source_of(instance)
        and change.commit_lsn >= (registered.start_lsn or '')
        and change.commit_lsn < (registered.end_lsn or '0xG') %}
        {% if not plan.problem %}
            {% set effect = dbt_cdc._effect_of_change(instance, plan.columns, change) %}
            {% do plan.history.append(dict(change, is_update=effect.is_update)) %}
            {% if effect.problem %}
                {% do plan.update(problem=dict(effect.problem, lsn=change.commit_lsn)) %}
            {% elif change.operation == 'TRUNCATE' %}
                {% do plan.update(truncated_lsn=change.commit_lsn) %}
            {% else %}
                {% do plan.columns.update(effect.columns) %}
                {% do plan.update(is_dropped=effect.is_dropped) %}
            {% endif %}
        {% endif %}
    {% endfor %}
    {% do return(plan) %}
{% endmacro %}


{#- {is_update, columns (only those that differ), is_dropped, problem} of one record. `is_update`: a
    captured column got another type. -#}
{% macro _effect_of_change(instance, columns, change) %}
    {% set effect = {'is_update': false, 'columns': {}, 'is_dropped': change.is_dropped,
        'problem': none} %}
    {% if change.operation == 'DDL' %}
        {% do effect.update(problem=dbt_cdc._refused_change(instance, columns, change)) %}
    {% endif %}
    {% if change.operation == 'TRUNCATE' or effect.problem or not change.columns %}
        {% do return(effect) %}
    {% endif %}
    {% set types = {} %}
    {% for column in change.columns %}
        {% do types.update({column.name | lower: column.type | string}) %}
    {% endfor %}
    {% for name, column in columns.items() if name | lower in types and not effect.problem %}
        {% set source_type = types[name | lower] %}
        {% if dbt_cdc._is_retyped(name, column, source_type, change.ddl_command) %}
            {% do effect.update(is_update=true) %}
            {% set wanted = dbt_cdc._spark_type(source_type) %}
            {% if dbt_cdc._holds_type(column.type, wanted) %}
                {% do effect.columns.update({name: dict(column, source_type=source_type)}) %}
            {% elif dbt_cdc._widens_to(column.type, wanted) %}
                {% do effect.columns.update({name: {'type': wanted, 'source_type': source_type}}) %}
            {% else %}
                {% do effect.update(problem={'number': 22978, 'text':
                    "column '" ~ name ~ "' became " ~ source_type ~ ' and the change table, where it is '
                    ~ column.type ~ ', cannot follow'}) %}
            {% endif %}
        {% elif column.source_type != source_type %}
            {% do effect.columns.update({name: dict(column, source_type=source_type)}) %}
        {% endif %}
    {% endfor %}
    {% do return(effect) %}
{% endmacro %}


{#- Whether a column has another type than before: by the list of columns of the DDL before this one;
    without one by the statement's text; without that, where the change table's column is too narrow. -#}
{% macro _is_retyped(name, column, source_type, command) %}
    {% set given = modules.re.sub('\\s+', '', source_type | lower) %}
    {% if column.source_type %}
        {% do return(modules.re.sub('\\s+', '', column.source_type | lower) != given) %}
    {% elif command %}
        {% do return(dbt_cdc._alters_column(command, name)) %}
    {% endif %}
    {% do return(dbt_cdc._widens_to(column.type, dbt_cdc._spark_type(source_type))) %}
{% endmacro %}


{#- What SQL Server refuses in an enabled table; other databases allow it, so it stands in their logs. -#}
{% macro _refused_change(instance, columns, change) %}
    {% set present = (change.columns or []) | map(attribute='name') | map('lower') | list %}
    {% set renamed = dbt_cdc._renamed_columns(change.ddl_command) %}
    {% if dbt_cdc._renames_table(change.ddl_command) %}
        {% do return({'number': 22931, 'text': 'the table was renamed; later changes bear its new name'}) %}
    {% endif %}
    {% for name in columns if change.columns and name | lower not in present %}
        {% if name | lower in renamed %}
            {% do return({'number': 4928, 'text': "captured column '" ~ name
                ~ "' was renamed to '" ~ renamed[name | lower] ~ "'"}) %}
        {% elif name in instance.index_columns %}
            {% do return({'number': 22983, 'text': "key column '" ~ name ~ "' was dropped"}) %}
        {% endif %}
    {% endfor %}
    {% if instance.index_columns and dbt_cdc._drops_key(change.ddl_command, instance.index_name) %}
        {% do return({'number': 22979, 'text': 'the key was dropped'}) %}
    {% endif %}
    {% do return(none) %}
{% endmacro %}


{% macro _raise_schema_problem(instance, problem) %}
    {% do dbt_cdc.raise_cdc_error(
        problem.number, "capture instance '" ~ instance.name ~ "' cannot follow the DDL of "
        ~ instance.table ~ ' committed at ' ~ problem.lsn ~ ': ' ~ problem.text,
        'add a second instance of the table as it is now (a model '
        ~ "with another capture_instance and capture_from: now; dbt run-operation enable_table prints "
        ~ 'it) and run again: it takes over at that LSN, this one ends there and stays readable; until '
        ~ 'then this window is not published'
    ) %}
{% endmacro %}
