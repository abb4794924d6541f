{#- Run-operation (sys.sp_cdc_disable_table): removes one capture instance of a table, or 'all' of them:
    change table, functions, metadata rows. A dry run only says what would go. -#}
{% macro disable_table(source_schema, source_name, capture_instance, dry_run=false) %}
    {% if execute %}
        {% set dry_run = dbt_cdc._as_boolean('dry_run', dry_run) %}
        {% do dbt_cdc._check_source_given(source_schema, source_name) %}
        {% do dbt_cdc.raise_cdc_error(
            22963, 'capture_instance is NULL or empty', "name the instance, or 'all'"
        ) if capture_instance is none or not capture_instance | string | trim %}
        {% set known = dbt_cdc._registered_if_any() %}
        {% set half_gone = dbt_cdc._half_gone(
            known, source_schema ~ '.' ~ source_name, capture_instance | trim | lower) %}
        {% set found = half_gone or dbt_cdc._registered_of_table(
            known, source_schema, source_name, capture_instance | trim) %}
        {% set left = known.values() | reject('in', found) | map(attribute='role_name') | list %}
        {% set bookmarks = dbt_cdc._bookmarks() %}
        {% for registered in found if not half_gone %}
            {% do dbt_cdc._report_disabling(registered, bookmarks, dry_run) %}
            {% if not dry_run %}
                {% do dbt_cdc._revoke_from_role(registered.role_name, [], left) %}
                {% do dbt_cdc._drop_instance(registered) %}
            {% endif %}
        {% endfor %}
        {% if not dry_run %}
            {% do dbt_cdc._publish_without(found, left == []) %}
            {% do dbt_cdc._tell_agent_of_models() %}
        {% else %}
            {% do log('nothing was removed: dry_run', info=true) %}
        {% endif %}
    {% endif %}
{% endmacro %}


{#- The instances that readers are told of and that are not there any more, where a command that died had them left. -#}
{% macro _half_gone(known, table, name) %}
    {% set found = [] %}
    {% for key, interval in (dbt_cdc._published_state().intervals.items() if name not in known else [])
        if key not in known and name in [key, 'all'] %}
        {% do found.append(interval) %}
    {% endfor %}
    {% for registered in known.values() if name == 'all'
        and (registered.source_schema ~ '.' ~ registered.source_name) | lower == table | lower %}
        {% do found.clear() %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{% macro _registered_of_table(known, source_schema, source_name, capture_instance) %}
    {% set names, found, tables = [], [], {} %}
    {% for registered in known.values() %}
        {% do tables.update({registered.capture_instance: registered.source_schema ~ '.' ~ registered.source_name}) %}
    {% endfor %}
    {% set table = dbt_cdc._meant_table(source_schema ~ '.' ~ source_name, tables.values()) %}
    {% for registered in known.values() if tables[registered.capture_instance] == table %}
        {% set name = registered.capture_instance %}
        {% do names.append(name) %}
        {% do found.append(registered) if capture_instance | lower in ['all', name | lower] %}
    {% endfor %}
    {% if not names %}
        {% do dbt_cdc._raise_not_captured(source_schema ~ '.' ~ source_name) %}
    {% elif not found %}
        {% do dbt_cdc.raise_cdc_error(
            22960, "'" ~ capture_instance ~ "' is no capture instance of table " ~ source_schema ~ '.'
            ~ source_name, 'it has ' ~ names | join(', ') ~ "; or give 'all'"
        ) %}
    {% endif %}
    {% do return(found) %}
{% endmacro %}


{% macro _report_disabling(registered, bookmarks, dry_run) %}
    {% set verb = 'would remove ' if dry_run else 'removing ' %}
    {% set relation = dbt_cdc._change_table_of(registered.capture_instance) %}
    {% do log(
        verb ~ "capture instance '" ~ registered.capture_instance ~ "' of " ~ registered.source_schema ~ '.'
        ~ registered.source_name ~ ': change table ' ~ relation ~ ', its functions ('
        ~ dbt_cdc._functions_of(registered.capture_instance) | join(', ') ~ '), its metadata rows', info=true
    ) %}
    {% set readers = [] %}
    {% for name, consumed in bookmarks.items()
        if consumed.get(registered.capture_instance | lower, {}).get('mode') %}
        {% do readers.append(name) %}
    {% endfor %}
    {% do log(
        'consumed by ' ~ readers | sort | join(', ') ~ ': move each to another instance, and run it, before this one '
        ~ 'goes; a consumer that is moved later is refused, for nothing tells how far it was', info=true
    ) if readers %}
    {% set files = [] %}
    {% for node in graph.nodes.values()
        if node.resource_type == 'model' and node.name == dbt_cdc._object_name(registered.capture_instance) ~ '_ct' %}
        {% do files.append(node.original_file_path) %}
        {% do files.append(
            'its entry in ' ~ node.patch_path.split('://')[-1] if node.patch_path else 'its YAML entry') %}
    {% endfor %}
    {% do log(
        'delete from the project: ' ~ files | join(' and ') ~ ', and the name in cdc_capture_instances' if files
        else 'the project has no model of it any more', info=true
    ) %}
    {% do dbt_cdc._tell_if_gone(relation) %}
{% endmacro %}


{#- Of a model that is gone nothing tells the schema. -#}
{% macro _tell_if_gone(relation) %}
    {% do log(
        relation ~ ' is not there: where the model had another schema or name, drop its table by hand', info=true
    ) if load_cached_relation(relation) is none %}
{% endmacro %}


{% macro _functions_of(capture_instance) %}
    {% set names = [] %}
    {% for prefix in ['fn_cdc_get_all_changes_', 'fn_cdc_get_net_changes_', 'fn_all_changes_',
        'fn_net_changes_'] %}
        {% do names.append(prefix ~ dbt_cdc._object_name(capture_instance)) %}
    {% endfor %}
    {% do return(names) %}
{% endmacro %}


{#- Each statement can be repeated; the row in change_tables goes last, and then what readers are told, so that a
    killed operation is taken up again by the same command. -#}
{% macro _drop_instance(registered) %}
    {% for name in dbt_cdc._functions_of(registered.capture_instance) %}
        {% do run_query('drop function if exists ' ~ dbt_cdc._function_name(name)) %}
    {% endfor %}
    {% do run_query('drop table if exists ' ~ dbt_cdc._change_table_of(registered.capture_instance)) %}
    {% do dbt_cdc._delete_state(
        'scan_progress', 'lower(capture_instance) = ' ~ dbt_cdc._literal(registered.capture_instance | lower)) %}
    {% for table in ['captured_columns', 'index_columns', 'ddl_history', 'change_tables'] %}
        {% do dbt_cdc._delete_state(table, 'object_id = ' ~ registered.object_id) %}
    {% endfor %}
{% endmacro %}


{#- With the last instance the jobs and lsn_time_mapping go; how far the log was scanned stays, so that a
    new instance captures later commits only. -#}
{% macro _publish_without(removed, is_last) %}
    {% set scanned_lsn = dbt_cdc._published_state().scanned_lsn %}
    {% if is_last %}
        {% do run_query('drop table if exists ' ~ dbt_cdc._state_relation('cdc_jobs')) %}
        {% do dbt_cdc._delete_state('lsn_time_mapping') %}
        {% do run_query(dbt_cdc._validity_intervals_sql([], scanned_lsn)) %}
    {% else %}
        {% do dbt_cdc._publish_validity_intervals(scanned_lsn) %}
    {% endif %}
    {% do log('removed: ' ~ removed | map(attribute='capture_instance') | join(', '), info=true) %}
{% endmacro %}
