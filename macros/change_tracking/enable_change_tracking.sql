{#- Run-operation (alter table ... enable change_tracking): prints the SQL and the YAML of the model
    that tracks a table, ready to paste. It changes nothing: the next run of the model does. Columns
    are those of the table's last DDL record in the log that lists them, else those of its images.
    -#}
{% macro enable_change_tracking(
    source_schema, source_name, primary_key, track_columns_updated=false, dry_run=true
) %}
    {% do dbt_cdc._declare_state() %}
    {% set log_relation = dbt_cdc._log_relation() %}
    {% if execute %}
        {% for name, value in {
            'source_schema': source_schema, 'source_name': source_name
        }.items() if not value %}
            {% do dbt_cdc.raise_cdc_error(
                22963, name ~ ' is NULL', 'give the source table: source_schema and source_name') %}
        {% endfor %}
        {% set table = source_schema ~ '.' ~ source_name %}
        {% set name = 'change_tracking_' ~ dbt_cdc._tracking_suffix(source_schema, source_name) %}
        {% if name in dbt_cdc._tracked_tables() %}
            {% do dbt_cdc.raise_cdc_error(
                4996, 'change tracking is already enabled for table ' ~ table,
                'edit its model, or disable_change_tracking first'
            ) %}
        {% endif %}
        {% set key = [primary_key] if primary_key is string else primary_key or [] %}
        {% if not key %}
            {% do dbt_cdc.raise_cdc_error(
                4997, 'change tracking of table ' ~ table ~ ' needs a primary key',
                'give primary_key: the list of its columns'
            ) %}
        {% endif %}
        {% set found = dbt_cdc._logged_columns(log_relation, source_schema, source_name) %}
        {% do dbt_cdc._check_logged_columns(table, key, found.columns) %}
        {% do log(dbt_cdc._tracking_model(
            name, source_schema, source_name, key, track_columns_updated, found), info=true) %}
    {% endif %}
{% endmacro %}


{% macro _check_logged_columns(table, key, columns) %}
    {% set names = columns | map(attribute='name') | list %}
    {% if not columns %}
        {% do dbt_cdc.raise_cdc_error(
            22931, 'the log has no record of table ' ~ table,
            'source_schema and source_name are those of the log, with the same letter case'
        ) %}
    {% endif %}
    {% for name in key if name not in names %}
        {% do dbt_cdc.raise_cdc_error(
            4997, "the primary key column '" ~ name ~ "' is not in table " ~ table,
            'it has ' ~ names | join(', ')
        ) %}
    {% endfor %}
{% endmacro %}


{#- The text of both files. Strings are quoted as JSON, which YAML contains. -#}
{% macro _tracking_model(name, source_schema, source_name, key, track_columns_updated, found) %}
    {% set lines = [
        '-- models/' ~ name ~ '.sql', '{' ~ '{ dbt_cdc.change_tracking_table() }' ~ '}', '',
        '# models/' ~ name ~ '.yml: columns from ' ~ found.origin, 'version: 2', 'models:',
        '  - name: ' ~ name, '    config:', '      meta:', '        change_tracking:',
        '          source_schema: ' ~ tojson(source_schema),
        '          source_name: ' ~ tojson(source_name),
        '          primary_key: ' ~ tojson(key),
        '          track_columns_updated: ' ~ track_columns_updated | lower, '    columns:',
    ] %}
    {% for column in found.columns %}
        {% do lines.append(
            '      - {name: ' ~ tojson(column.name) ~ ', data_type: ' ~ tojson(column.type) ~ '}') %}
    {% endfor %}
    {% do return(lines | join('\n')) %}
{% endmacro %}
