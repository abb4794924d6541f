{#- Run-operation (sys.sp_cdc_help_change_data_capture): prints the capture instances, of one table or of
    all, and the LSN at which a table's newer instance takes over from the older one. -#}
{% macro help_change_data_capture(source_schema=none, source_name=none) %}
    {% if execute %}
        {% do dbt_cdc.raise_cdc_error(
            22972, 'source_schema or source_name is missing', 'give both, or neither for all tables'
        ) if (source_schema is none) != (source_name is none) %}
        {% set found = dbt_cdc._registered_if_any().values() | sort(attribute='source_schema,source_name,create_date')
            if source_schema is none else dbt_cdc._registered_of_table(
                dbt_cdc._registered_if_any(), source_schema, source_name, 'all') %}
        {% set rows, starts = [], {} %}
        {% for instance in found %}
            {% do rows.append(dbt_cdc._help_row(instance)) %}
            {% do starts.setdefault(
                instance.source_schema ~ '.' ~ instance.source_name, []).append(instance) %}
        {% endfor %}
        {% do dbt_cdc._print_rows(rows) %}
        {% for table, instances in starts.items() if instances | length == 2 %}
            {% set old, new = dbt_cdc._old_and_new(instances) %}
            {% do log(
                'hand-over of ' ~ table ~ ' from ' ~ old.capture_instance ~ ' to ' ~ new.capture_instance
                ~ ': ' ~ new.start_lsn ~ ' (read the old one below it, the new one from it on; '
                ~ 'changes_across does)', info=true
            ) %}
        {% endfor %}
    {% endif %}
{% endmacro %}


{% macro _help_row(instance) %}
    {% set captured = instance.columns | map(attribute='column_name') | list %}
    {% do return({
        'source_schema': instance.source_schema,
        'source_table': instance.source_name,
        'capture_instance': instance.capture_instance,
        'object_id': instance.object_id,
        'source_object_id': instance.source_object_id,
        'start_lsn': instance.start_lsn,
        'end_lsn': instance.end_lsn,
        'supports_net_changes': instance.supports_net_changes | string | lower,
        'has_drop_pending': instance.has_drop_pending | string | lower,
        'role_name': instance.role_name,
        'index_name': instance.index_name,
        'filegroup_name': instance.filegroup_name,
        'create_date': instance.create_date,
        'index_column_list': dbt_cdc._bracketed(instance.index_columns),
        'captured_column_list': dbt_cdc._bracketed(captured),
    }) %}
{% endmacro %}


{% macro _bracketed(names) %}
    {% set texts = [] %}
    {% for name in names %}
        {% do texts.append('[' ~ name.replace(']', ']]') ~ ']') %}
    {% endfor %}
    {% do return(texts | join(', ') or none) %}
{% endmacro %}
