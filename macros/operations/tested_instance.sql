{#- What the data tests of a change table need: its instance and what is published of it. -#}
{% macro _tested_instance(model) %}
    {% if not execute %}
        {#- a leaf, so that in `dbt build` such a test holds back nothing -#}
        {% do ref('dbt_cdc', 'lsn_time_mapping') %}
        {% do ref('dbt_cdc', 'dm_cdc_log_scan_sessions') %}
        {% do return({'source_schema': '', 'source_name': '', 'interval': {}, 'scanned_lsn': ''}) %}
    {% endif %}
    {% for instance in dbt_cdc._capture_instances().values()
        if model is not string and instance.relation.identifier == model.identifier %}
        {% set state = dbt_cdc._published_state() %}
        {% do return(dict(
            instance,
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
    {% do return(to_lsn or '') if not execute or to_lsn or not dbt_cdc._has_state('scan_transactions') %}
    {% do return(dbt_cdc._fetch('select max(window_to_lsn) as lsn from ' ~ dbt_cdc._state_relation('scan_transactions')
        ~ " where window_to_lsn > '" ~ instance.scanned_lsn ~ "' and opened_at >= current_timestamp() - interval '"
        ~ max_minutes | int ~ "' minute")[0].lsn or '') %}
{% endmacro %}


{#- The first LSN of the cleanup job's retention and `grace_minutes`; none without a job. What a consumer
    has not read and the job still holds for it is not too old. -#}
{% macro _oldest_lsn_to_keep(instance, grace_minutes) %}
    {% set job = dbt_cdc._jobs().get('cleanup') if execute and instance.interval.get('high_end') %}
    {% do return(none) if not job %}
    {% set mark = dbt_cdc._fetch(dbt_cdc._retention_mark_sql(
        dbt_cdc._published_state(), job.retention + grace_minutes | int))[0].lsn %}
    {% set kept = [mark or ''] %}
    {% for bookmarks in dbt_cdc._bookmarks().values() %}
        {% set bookmark = bookmarks.get(instance.name | lower, {}) %}
        {% do kept.append(bookmark.last_lsn or kept[0]) if bookmark.mode %}
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
