{#- Run-operation (alter table ... enable change_tracking): prints the SQL and the YAML of the model
    that tracks a table, ready to paste. It changes nothing: the next run of the model does. Columns
    are those that the log tells of the table, with the types of enable_table. -#}
{% macro enable_change_tracking(
    source_schema, source_name, primary_key, track_columns_updated=false, dry_run=true, types=none
) %}
    {% if execute %}
        {% set track_columns_updated = dbt_cdc._as_boolean('track_columns_updated', track_columns_updated) %}
        {% do dbt_cdc._check_source_given(source_schema, source_name) %}
        {% set table = source_schema ~ '.' ~ source_name %}
        {% set name = dbt_cdc._side_table_names(table)[0] %}
        {% set tracked = dbt_cdc._table_called(table, dbt_cdc._tracked_tables().values()) %}
        {% if tracked %}
            {% do dbt_cdc.raise_cdc_error(
                4996, 'change tracking is already enabled for table ' ~ tracked.table,
                'edit its model, or disable_change_tracking first'
            ) %}
        {% elif name in dbt_cdc._tracked_tables() %}
            {% do dbt_cdc.raise_cdc_error(
                4996, 'the side table of table ' ~ table ~ ' would be ' ~ name ~ ', which is that of table '
                ~ dbt_cdc._tracked_tables()[name].table,
                'track one of the two; disable_change_tracking of the other comes first'
            ) %}
        {% endif %}
        {% set key = dbt_cdc._split_columns(primary_key, 'primary_key') or [] %}
        {% do dbt_cdc.raise_cdc_error(
            4997, 'change tracking of table ' ~ table ~ ' needs a primary key',
            'give primary_key: the list of its columns'
        ) if not key %}
        {% set found = dbt_cdc._source_columns(source_schema, source_name) %}
        {% set key = dbt_cdc._as_spelled(key, found.columns) %}
        {% do dbt_cdc._check_tracked_key(table, key, found.columns) %}
        {% do dbt_cdc._check_tables_of('types', types, [table]) %}
        {% do found.update(columns=dbt_cdc._with_given_types(
            table, found.columns, (types or {}).get(table), in_yaml=true)) %}
        {% do dbt_cdc._check_types_known({table: found.columns}) %}
        {% do print(dbt_cdc._tracking_model(
            name, source_schema, source_name, key, track_columns_updated, found)) %}
        {% do dbt_cdc._tell_of_types(table, found.columns) %}
        {% do print('\n# dbt_project.yml: ' ~ dbt_cdc._listing_line('cdc_tracked_tables', name[16:])) %}
    {% endif %}
{% endmacro %}


{% macro _check_tracked_key(table, key, columns) %}
    {% set names = columns | map(attribute='name') | list %}
    {% for name in key if name not in names %}
        {% do dbt_cdc.raise_cdc_error(
            4997, "the primary key column '" ~ name ~ "' is not in table " ~ table,
            'it has ' ~ names | join(', ')
        ) %}
    {% endfor %}
{% endmacro %}


{#- The text of both files. -#}
{% macro _tracking_model(name, source_schema, source_name, key, track_columns_updated, found) %}
    {% set lines = [
        '-- models/' ~ name ~ '.sql', '{' ~ '{ dbt_cdc.change_tracking_table() }' ~ '}', '',
        '# models/' ~ name ~ '.yml', 'version: 2', '', 'models:',
        '  - name: ' ~ name, '    config:', '      meta:', '        change_tracking:',
        '          source_schema: ' ~ dbt_cdc._yaml_text(source_schema),
        '          source_name: ' ~ dbt_cdc._yaml_text(source_name),
        '          primary_key: ' ~ dbt_cdc._yaml_list(key),
        '          track_columns_updated: ' ~ track_columns_updated | lower,
        '    columns:  # from ' ~ found.origin,
    ] %}
    {% do lines.extend(dbt_cdc._yaml_columns(found.columns)) %}
    {% do return(lines | join('\n')) %}
{% endmacro %}
