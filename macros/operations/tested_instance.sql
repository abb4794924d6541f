{#- What the data tests of a change table need: its instance and what is published of it, beside the table where
    `--defer` finds that (`mapping`; none: in the target). -#}
{% macro _tested_instance(model) %}
    {% if not execute %}
        {#- a leaf, so that in `dbt build` such a test holds back nothing -#}
        {% do ref('dbt_cdc', 'lsn_time_mapping') %}
        {% do ref('dbt_cdc', 'dm_cdc_log_scan_sessions') %}
        {% do return({
            'name': '', 'source_schema': '', 'source_name': '', 'interval': {}, 'scanned_lsn': '', 'mapping': none,
        }) %}
    {% endif %}
    {% for instance in dbt_cdc._capture_instances().values()
        if model is not string and instance.relation.identifier == model.identifier %}
        {#- names, as one of them may be quoted -#}
        {% set is_own = [model.database, model.schema] == [instance.relation.database, instance.relation.schema] %}
        {% set mapping = none if is_own else dbt_cdc._mapping_beside(model) %}
        {% set state = dbt_cdc._published_state(mapping) %}
        {% do return(dict(
            instance,
            mapping=mapping,
            interval=state.intervals.get(instance.name | lower, {}),
            scanned_lsn=state.scanned_lsn
        )) %}
    {% endfor %}
    {% do dbt_cdc.raise_cdc_error(
        22981, 'a data test of change tables is set on ' ~ model ~ ', which is none',
        'set it on the model of a capture instance, without `where`'
    ) %}
{% endmacro %}


{#- The end of the window that this command captures, or that was opened within `max_minutes` and is not published. -#}
{% macro _being_scanned(instance, max_minutes) %}
    {% set to_lsn = dbt_cdc._invocation_cache().get('window', {}).get('to_lsn') if execute %}
    {% set scanned = dbt_cdc._state_beside(instance.mapping, 'scan_transactions') if execute %}
    {% do return(to_lsn or '') if not execute or to_lsn or load_cached_relation(scanned) is none %}
    {% do return(dbt_cdc._fetch('select max(window_to_lsn) as lsn from ' ~ scanned
        ~ " where window_to_lsn > '" ~ instance.scanned_lsn ~ "' and opened_at >= current_timestamp() - interval '"
        ~ max_minutes | int ~ "' minute")[0].lsn or '') %}
{% endmacro %}


{#- The first LSN of the cleanup job's retention and `grace_minutes`; none without a job in this target. What a consumer
    has not read and the job still holds for it is not too old. -#}
{% macro _oldest_lsn_to_keep(instance, grace_minutes) %}
    {% set job = dbt_cdc._jobs().get('cleanup') if execute and instance.interval.get('high_end')
        and not instance.mapping %}
    {% do return(none) if not job %}
    {% set mark = dbt_cdc._fetch(dbt_cdc._retention_mark_sql(
        dbt_cdc._published_state(), job.retention + grace_minutes | int))[0].lsn %}
    {% set kept = [mark or ''] %}
    {% set state = dbt_cdc._consumed_so_far() %}
    {% for bookmarks in state.bookmarks.values() %}
        {% for bookmark in dbt_cdc._bookmarks_before(instance.name | lower, bookmarks, state.instances) %}
            {% do kept.append(bookmark.last_lsn or kept[0]) %}
        {% endfor %}
    {% endfor %}
    {% do return([kept | min, dbt_cdc._first_lsn_to_hold(job, grace_minutes) or ''] | max) if kept | min < kept[0] %}
    {% do return(mark) %}
{% endmacro %}


{#- The name of the model that a data test of consumers is set on. -#}
{% macro _tested_consumer(model) %}
    {% if not execute %}
        {% do return('') %}
    {% elif model is string %}
        {% do dbt_cdc.raise_cdc_error(
            22981, 'a data test of consumers is set on ' ~ model ~ ', which is none',
            'set it on a model that takes new_changes, without `where`'
        ) %}
    {% endif %}
    {% for node in graph.nodes.values()
        if node.resource_type == 'model' and node.alias == model.identifier
        and node.schema | lower == model.schema | lower %}
        {% do return(dbt_cdc._consumer_name(node)) %}
    {% endfor %}
    {% do return(model.identifier) %}
{% endmacro %}


{#- Whether this very command captures: it builds, and a part of the capture job is among what it builds; dbt retry does
    not say what that is. -#}
{% macro _captures_now() %}
    {% do return(true) if dbt_cdc._is_building() and not selected_resources
        and dbt_cdc._invocation_cache().get('window') %}
    {% for id in (selected_resources if dbt_cdc._is_building() else [])
        if id in graph.nodes and dbt_cdc._is_of_capture(graph.nodes[id]) %}
        {% do return(true) %}
    {% endfor %}
    {% do return(false) %}
{% endmacro %}
