{#- What an export of SQL Server's change tables lacks of what came behind the log's end. -#}

{#- The cleanup job of SQL Server removes commits and changes, and an instance begins when it was made. `first_lsn`: of
    lsn_time_mapping, where that is behind the log's end. -#}
{% macro _check_export_goes_on(tables, lsn_time_mapping, change_tables, log, last_lsn, first_lsn) %}
    {% if dbt_cdc._stop_or_pass('cdc_log_gap') == 'stop' %}
        {% do dbt_cdc.raise_cdc_error(
            22859, 'change_table_log: ' ~ lsn_time_mapping ~ ' begins at ' ~ first_lsn ~ ', and ' ~ log ~ ' ends at '
            ~ last_lsn ~ ': what came in between may be missing',
            'export what is missing, as long as the cleanup job of SQL Server has not removed it; where nothing is '
            ~ 'missing, as each export holds only what is new, give vars: {cdc_log_gap: pass}; else begin '
            ~ 'anew: disable_table of the instances, disable_change_tracking of tracked tables, and run with it once'
        ) if first_lsn %}
        {% for row in dbt_cdc._instances_that_begin_behind(tables, change_tables, last_lsn)
            if dbt_cdc._log_knows_table(log, row.source_table) %}
            {% do dbt_cdc.raise_cdc_error(
                22859, 'change_table_log: capture instance ' ~ row.capture_instance ~ ' of ' ~ row.source_table
                ~ ' begins at ' ~ row.start_lsn ~ ', and ' ~ log ~ ' ends at ' ~ last_lsn
                ~ ': changes of the table in between are not in it',
                'where the instance has taken the place of another one, name the change table of that for a run whose '
                ~ 'export goes beyond ' ~ row.start_lsn ~ '; where the cleanup job of SQL Server has removed them, '
                ~ 'begin anew; where there were none, or they have landed all the same, as exports append, give vars: '
                ~ '{cdc_log_gap: pass} for one run'
            ) %}
        {% endfor %}
    {% endif %}
{% endmacro %}


{#- [{source_table, capture_instance, start_lsn}]. An instance that was just enabled has no start_lsn yet. -#}
{% macro _instances_that_begin_behind(tables, change_tables, last_lsn) %}
    {% set found, instances = [], {} %}
    {% if change_tables %}
        {% do dbt_cdc._exported_types(change_tables, ['capture_instance', 'start_lsn']) %}
        {% for row in dbt_cdc._fetch('select lower(capture_instance) as name, max('
            ~ dbt_cdc._exported_lsn('start_lsn', change_tables) ~ ') as start_lsn from ' ~ change_tables
            ~ ' group by name') %}
            {% do instances.update({row.name: row.start_lsn}) %}
        {% endfor %}
        {% for table, relation in tables.items() %}
            {% set name = dbt_cdc._exported_instance(relation) %}
            {% do dbt_cdc.raise_cdc_error(
                22963, 'change_table_log: ' ~ change_tables ~ ' has no capture instance ' ~ name ~ ', of which '
                ~ relation ~ ' would be the change table',
                'name the relation <capture_instance>_CT, or leave the argument change_tables away'
            ) if name | lower not in instances %}
            {% do found.append({
                'source_table': table, 'capture_instance': name, 'start_lsn': instances[name | lower]
            }) if (instances[name | lower] or '') > last_lsn %}
        {% endfor %}
    {% endif %}
    {% do return(found) %}
{% endmacro %}


{#- A relation is called `<capture_instance>_CT`. -#}
{% macro _exported_instance(relation) %}
    {% do return(modules.re.sub('(?i)_ct$', '', relation.identifier)) %}
{% endmacro %}


{#- Whether the log has, or had before it was cut, a change of a table; a table that comes to the log is none. -#}
{% macro _log_knows_table(log, source_table) %}
    {% set schema, _, name = source_table.partition('.') %}
    {% set observed = dbt_cdc._model_relation(graph.nodes['model.dbt_cdc.observed_columns']) %}
    {% for relation in [log] + ([observed] if load_cached_relation(observed) is not none else [])
        if dbt_cdc._fetch('select 1 from ' ~ relation ~ ' where source_schema = ' ~ dbt_cdc._literal(schema)
            ~ ' and source_name = ' ~ dbt_cdc._literal(name) ~ ' limit 1') %}
        {% do return(true) %}
    {% endfor %}
    {% do return(false) %}
{% endmacro %}
