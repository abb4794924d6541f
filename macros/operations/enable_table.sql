{#- Run-operation (sys.sp_cdc_enable_table): prints the two files of a capture instance's model, after all
    of SQL Server's refusals. It writes nothing: the instance is there with the first `dbt run` after the
    files are. `file` is sql or yaml for one of them alone, to redirect it. -#}
{% macro enable_table(
    source_schema, source_name, capture_instance=none, supports_net_changes=none, role_name=none,
    index_name=none, index_columns=none, captured_column_list=none, filegroup_name=none,
    allow_partition_switch=none, capture_from='now', enable_extended_ddl_handling=false, file=none, dry_run=false,
    types=none
) %}
    {% if execute %}
        {% set dry_run = dbt_cdc._as_boolean('dry_run', dry_run) %}
        {% do dbt_cdc._check_source_given(source_schema, source_name) %}
        {% do dbt_cdc._check_is_text('capture_instance', capture_instance) %}
        {% do dbt_cdc._check_source_schema(source_schema) %}
        {% set meta = {
            'source_schema': source_schema, 'source_name': source_name,
            'capture_instance': (capture_instance or source_schema ~ '_' ~ source_name).rstrip(),
        } %}
        {% do dbt_cdc._check_new_instance(meta) %}
        {% set source = dbt_cdc._source_columns(source_schema, source_name) %}
        {% set index_columns = dbt_cdc._split_columns(index_columns, 'index_columns')
            or (dbt_cdc._columns_of_index(source.columns, index_name) if index_name is not none else []) %}
        {% set index_columns = dbt_cdc._as_spelled(index_columns, source.columns) %}
        {% set table = source_schema ~ '.' ~ source_name %}
        {% do dbt_cdc._check_tables_of('types', types, [table]) %}
        {% set columns = dbt_cdc._chosen_columns(meta, dbt_cdc._with_given_types(
            table, source.columns, (types or {}).get(table), in_yaml=true), captured_column_list) %}
        {% do dbt_cdc._check_types_known({table: columns}) %}
        {% do dbt_cdc._check_index(meta, source.columns, index_name, index_columns) %}
        {% do dbt_cdc.raise_cdc_error(
            22874, "capture instance '" ~ meta.capture_instance
            ~ "' with enable_extended_ddl_handling asks for what is not available",
            'leave enable_extended_ddl_handling out; DDL is followed without it, and new columns by a second '
            ~ 'instance (' ~ dbt_cdc._page('instances.md') ~ ')')
            if dbt_cdc._as_boolean('enable_extended_ddl_handling', enable_extended_ddl_handling) %}
        {% do meta.update(
            index_columns=index_columns,
            supports_net_changes=index_columns | length > 0 if supports_net_changes is none
                else dbt_cdc._as_boolean('supports_net_changes', supports_net_changes),
            capture_from=capture_from or 'now',
            allow_partition_switch=allow_partition_switch is none
                or dbt_cdc._as_boolean('allow_partition_switch', allow_partition_switch),
        ) %}
        {% for name, value in {
            'role_name': role_name, 'index_name': index_name, 'filegroup_name': filegroup_name
        }.items() if value is not none %}
            {% do meta.update({name: value}) %}
        {% endfor %}
        {#- how the images of the table are, its other instance says -#}
        {% for key, usual in {'before_image': 'complete', 'lob_before_image': 'always'}.items()
            if source.instance and source.instance[key] != usual %}
            {% do meta.update({key: source.instance[key]}) %}
        {% endfor %}
        {% set node = {
            'name': dbt_cdc._object_name(meta.capture_instance) ~ '_ct', 'columns': columns,
            'config': {'meta': {'cdc': meta}},
        } %}
        {% do dbt_cdc._capture_instance(node) %}
        {% set files = dbt_cdc._model_files(node, source.origin, file) %}
        {% if dry_run %}
            {% do dbt_cdc._log_line('would write the files of model ' ~ node.name ~ '; nothing is written: dry_run') %}
        {% else %}
            {% do print(files) %}
            {% do print('\n# dbt_project.yml: ' ~ dbt_cdc._listing_line(
                'cdc_capture_instances', dbt_cdc._object_name(meta.capture_instance))) if not file %}
        {% endif %}
        {% do dbt_cdc._tell_of_types(table, columns) %}
        {% do dbt_cdc._warn_of_storage(allow_partition_switch, filegroup_name) %}
    {% endif %}
{% endmacro %}


{#- What is given about partitions and file groups is written down. -#}
{% macro _warn_of_storage(allow_partition_switch, filegroup_name) %}
    {% if allow_partition_switch is not none
        and dbt_cdc._as_boolean('allow_partition_switch', allow_partition_switch) %}
        {% do log(dbt_cdc._error_text(
            22855, 'allow_partition_switch is 1', 'partitions that are switched in or out are in no log, so their '
            ~ 'rows are not captured'), info=true) %}
    {% elif allow_partition_switch is not none %}
        {% do log(dbt_cdc._error_text(
            22857, 'allow_partition_switch is 0', 'it is written down and ignored: the log does not tell whether the '
            ~ 'table has partitions, and refuses no switch'), info=true) %}
    {% endif %}
    {% do log(dbt_cdc._error_text(
        22973, "filegroup_name is '" ~ filegroup_name ~ "'", 'it is written down and ignored: tables of Spark have '
        ~ 'no file groups'), info=true)
        if filegroup_name is not none %}
{% endmacro %}


{#- The rules of names, against the project's models and against what is captured already. A model whose
    YAML is not written yet is in nobody's way. -#}
{% macro _check_new_instance(meta) %}
    {% set name = meta.capture_instance %}
    {% do dbt_cdc._check_instance_name("capture instance '" ~ name ~ "'", name) %}
    {% set table = meta.source_schema ~ '.' ~ meta.source_name %}
    {% set present, registered = {}, dbt_cdc._registered_if_any() %}
    {% for node in graph.nodes.values()
        if node.resource_type == 'model' and node.config.materialized == 'change_table' %}
        {% set cdc = node.config.meta.get('cdc') or {} %}
        {% set source_table = cdc.get('source_schema', '') ~ '.' ~ cdc.get('source_name', '') %}
        {% do present.update({
            (cdc.get('capture_instance') or source_table.replace('.', '_', 1)) | lower: source_table
        }) if cdc %}
    {% endfor %}
    {% for instance in registered.values() %}
        {% do present.update({
            instance.capture_instance | lower: instance.source_schema ~ '.' ~ instance.source_name
        }) %}
    {% endfor %}
    {% for other, other_table in present.items() if dbt_cdc._object_name(other) == dbt_cdc._object_name(name) %}
        {#- as a command leaves it that died before the last step of scripts/enable_table.py -#}
        {% set is_begun = other not in registered and other_table == table %}
        {% do dbt_cdc._raise_taken(name, other, other_table, dbt_cdc._advice_of_begun(other)) if is_begun
            else dbt_cdc._raise_taken(name, other, other_table) %}
    {% endfor %}
    {% set others = [] %}
    {% for other, other_table in present.items() if other_table == table %}
        {% do others.append(other) %}
    {% endfor %}
    {% do dbt_cdc.raise_cdc_error(
        22962, 'table ' ~ table ~ ' has two capture instances already: ' ~ others | join(', '),
        dbt_cdc._advice_of_room(others | reject('in', registered) | join(', '))
    ) if others | length >= 2 %}
{% endmacro %}


{#- A model without an instance, as disable_table leaves it, is entered by the next run. -#}
{% macro _advice_of_room(models) %}
    {% do return((models ~ ' is no instance (any more), and has a model: ' if models
        else 'disable one first (dbt run-operation disable_table), and ') ~ 'delete its model, its YAML and its name '
        ~ 'in cdc_capture_instances') %}
{% endmacro %}


{#- What is left to do where a model is there and no run has entered its instance. -#}
{% macro _advice_of_begun(capture_instance) %}
    {% set name, variable = dbt_cdc._object_name(capture_instance), 'cdc_capture_instances' %}
    {% do return('its model is there: ' ~ ('' if name in dbt_cdc._listed(variable)
        else 'add it in dbt_project.yml: ' ~ dbt_cdc._listing_line(variable, name) ~ dbt_cdc._directly_below_vars()
            ~ '; then ') ~ 'dbt run captures it') %}
{% endmacro %}


{#- The columns of an index, in its order, where the table's DDL record tells them. -#}
{% macro _columns_of_index(columns, index_name) %}
    {% set found = {} %}
    {% for column in columns %}
        {% for name, ordinal in (column.indexes or {}).items() if name | lower == index_name | string | lower %}
            {% do found.update({ordinal | int: column.name}) %}
        {% endfor %}
    {% endfor %}
    {% do return(found | dictsort | map(attribute=1) | list) %}
{% endmacro %}


{#- A log need not tell indexes: then a name alone does not tell the columns. -#}
{% macro _check_index(meta, columns, index_name, index_columns) %}
    {% set table = meta.source_schema ~ '.' ~ meta.source_name %}
    {% do dbt_cdc.raise_cdc_error(
        22928, "the columns of index '" ~ index_name ~ "' of table " ~ table ~ ' are not known',
        'the DDL of the log does not tell it: give index_columns too'
    ) if index_name is not none and not index_columns %}
    {% set names = columns | map(attribute='name') | list %}
    {% for name in index_columns if name not in names %}
        {% do dbt_cdc.raise_cdc_error(
            22928, "index column '" ~ name ~ "' is no column of table " ~ table,
            'it has ' ~ names | join(', ')
        ) %}
    {% endfor %}
{% endmacro %}
