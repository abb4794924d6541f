{#- Run-operation (sys.sp_cdc_disable_db): removes all that CDC has made in its schema, which `schema_name` has
    to name. Logs, tables of consumers and roles stay. A dry run, unless told otherwise. -#}
{% macro disable_db(schema_name, dry_run=true) %}
    {% if execute %}
        {% set dry_run = dbt_cdc._as_boolean('dry_run', dry_run) %}
        {% do dbt_cdc._check_enabled() %}
        {% set schema = dbt_cdc._state_relation('change_tables').schema %}
        {% do dbt_cdc.raise_cdc_error(
            22963, "schema_name is '" ~ schema_name ~ "', and the target's is '" ~ schema ~ "'",
            'name the schema from which change data capture is removed'
        ) if schema_name | string | lower != schema | lower %}
        {% set agent = dbt_cdc._live_agent() if not dry_run %}
        {% do dbt_cdc.raise_cdc_error(
            22909, 'an agent runs (heard of at ' ~ agent.time ~ '), and its next scan would enable schema ' ~ schema
            ~ ' again; nothing was removed',
            'end it (SIGTERM), then run disable_db again; of one that died, half an hour after it was heard of'
        ) if agent %}
        {% set failed, lists = [], dbt_cdc._lists_of_objects() | map('string') | list %}
        {% for name, kind in dbt_cdc._objects_of_cdc().items() %}
            {% if failed and name in lists %}
                {% do failed.append(name) %}
            {% else %}
                {% do log(('would drop ' if dry_run else 'dropping ') ~ kind ~ ' ' ~ name, info=true) %}
                {% do failed.append(name) if not dry_run and not dbt_cdc._drop_object(kind, name) %}
            {% endif %}
        {% endfor %}
        {% do dbt_cdc.raise_cdc_error(
            22909, 'not everything could be dropped; still there: ' ~ failed | join(', '),
            'see who holds it, then run disable_db again'
        ) if failed %}
        {% do log(
            'a dry run: nothing was removed; repeat with dry_run: false' if dry_run
            else 'change data capture is disabled in schema ' ~ schema ~ ': the next dbt run would enable it '
            ~ 'and begin anew with what the log still holds', info=true) %}
    {% endif %}
{% endmacro %}


{#- They tell a command that is repeated what there was, so they go last. -#}
{% macro _lists_of_objects() %}
    {% set relations = [] %}
    {% for name in ['syscommittab', 'change_tracking_tables', 'change_tables'] %}
        {% do relations.append(dbt_cdc._state_relation(name)) %}
    {% endfor %}
    {% do return(relations) %}
{% endmacro %}


{#- What there is, in the order in which it goes: {name: 'function', 'view' or 'table'}. -#}
{% macro _objects_of_cdc() %}
    {% set instances = dbt_cdc._registered_instances() %}
    {% set tracked = dbt_cdc._read_tracking(dbt_cdc._zero_lsn()).tables
        if dbt_cdc._has_state('syscommittab') and dbt_cdc._has_state('change_tracking_tables') else {} %}
    {% set objects = dbt_cdc._functions_of_cdc(instances, tracked) %}
    {% set relations = [dbt_cdc._validity_intervals(), dbt_cdc._tracking_versions()] %}
    {% for each in instances + tracked.values() | list %}
        {% do dbt_cdc._tell_if_gone(each.relation) %}
        {% do relations.append(each.relation) %}
    {% endfor %}
    {% for node in dbt_cdc._state_nodes() | sort(attribute='config.materialized', reverse=true) %}
        {% set relation = dbt_cdc._model_relation(node).incorporate(
            type='view' if node.config.materialized == 'state_view' else 'table') %}
        {% do relations.append(relation) if relation not in dbt_cdc._lists_of_objects() %}
    {% endfor %}
    {#- what is of another type is somebody else's -#}
    {% for relation in relations + dbt_cdc._lists_of_objects()
        if (load_cached_relation(relation) or {}).type == relation.type %}
        {% do objects.update({relation | string: relation.type | string}) %}
    {% endfor %}
    {% do return(objects) %}
{% endmacro %}


{#- Those that are there of the names that persistent functions have. -#}
{% macro _functions_of_cdc(instances, tracked) %}
    {% set names, found = [], {} %}
    {% if dbt_cdc._switch_of_var('cdc_persistent_functions', true) %}
        {% do names.extend(dbt_cdc._lsn_functions()) %}
        {% do names.extend(dbt_cdc._mask_functions()) %}
        {% do names.extend(dbt_cdc._version_functions()) %}
        {% for instance in instances %}
            {% do names.extend(dbt_cdc._functions_of(instance.capture_instance)) %}
        {% endfor %}
        {% for table in tracked %}
            {% do names.extend(['changetable_changes_' ~ table[16:], 'changetable_version_' ~ table[16:]]) %}
        {% endfor %}
        {% for row in dbt_cdc._fetch(
            'show user functions in ' ~ dbt_cdc._state_relation('change_tables').without_identifier()) %}
            {% set name = row.function.split('.')[-1] %}
            {% do found.update({dbt_cdc._function_name(name): 'function'} if name in names else {}) %}
        {% endfor %}
    {% endif %}
    {% do return(found) %}
{% endmacro %}


{#- Whether it is gone. -#}
{% macro _drop_object(kind, name) %}
    {% set drop = 'drop ' ~ kind ~ ' if exists ' ~ name %}
    {% do return(dbt_cdc._fetch(dbt_cdc._on_failure(
        drop ~ ";\nselect 'done' as outcome", "select 'failed' as outcome"))[0].outcome == 'done') %}
{% endmacro %}
