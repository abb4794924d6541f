{#- The scan window of this run, resolved once: {previous_lsn, to_lsn, floor_lsn, published}.
    `previous_lsn` is exclusive, `to_lsn` inclusive and none where there is nothing to capture;
    `floor_lsn` is the first record of any transaction that commits in the window; `published`
    lists the instances that were part of the last publication. A window that an earlier run left
    open is taken up again; unit tests override this macro. -#}
{% macro scan_window() %}
    {% set cache = dbt_cdc._invocation_cache() %}
    {% if 'window' not in cache %}
        {% if dbt_cdc._is_building() %}
            {% do cache.update(window=dbt_cdc._resolve_scan_window()) %}
        {% else %}
            {% do return(dbt_cdc._no_window()) %}
        {% endif %}
    {% endif %}
    {% do return(cache.window) %}
{% endmacro %}


{% macro _no_window() %}
    {% do return({
        'previous_lsn': dbt_cdc._zero_lsn(), 'to_lsn': none, 'floor_lsn': dbt_cdc._zero_lsn(),
        'published': [],
    }) %}
{% endmacro %}


{% macro _resolve_scan_window() %}
    {% do dbt_cdc._ensure_state_tables() %}
    {% set state = dbt_cdc._published_state() %}
    {% set window = dbt_cdc._find_open_window(state.scanned_lsn) %}
    {% if not window.to_lsn %}
        {% set to_lsn = dbt_cdc._find_log_end(state.scanned_lsn) %}
        {% if to_lsn %}
            {% do run_query(dbt_cdc._open_window_sql(state.scanned_lsn, to_lsn)) %}
            {% set window = dbt_cdc._find_open_window(state.scanned_lsn) %}
        {% endif %}
    {% endif %}
    {% do window.update(
        published=dbt_cdc._published_instances(state), log=dbt_cdc._log_relation()
    ) %}
    {% if window.to_lsn %}
        {% do dbt_cdc._register_instances(window) %}
        {% do dbt_cdc._log_line(
            'scan window: after ' ~ window.previous_lsn ~ ' up to ' ~ window.to_lsn ~ ', '
            ~ window.transactions ~ ' transactions'
        ) %}
    {% else %}
        {% do dbt_cdc._log_line('nothing to capture after ' ~ window.previous_lsn) %}
    {% endif %}
    {% do return(window) %}
{% endmacro %}


{#- The window that is open, if any: the one right after the last published position. (In a run that
    others have overtaken there may be later ones, and this one be done already.) `touched_tables`
    have changes in it. `ends_with_rows`: its last commit surely left rows; `updated_tables`: those
    that have to be asked whether the other transactions did. -#}
{% macro _find_open_window(scanned_lsn) %}
    {% set rows = dbt_cdc._fetch(dbt_cdc._open_windows_sql(scanned_lsn)) %}
    {% if not rows %}
        {% do return({'previous_lsn': scanned_lsn, 'to_lsn': none, 'floor_lsn': none}) %}
    {% endif %}
    {% do return(dict(
        rows[0],
        previous_lsn=scanned_lsn,
        touched_tables=fromjson(rows[0].touched_tables),
        updated_tables=fromjson(rows[0].updated_tables)
    )) %}
{% endmacro %}


{% macro _open_windows_sql(scanned_lsn) -%}
    select
        window_to_lsn as to_lsn,
        min(begin_lsn) as floor_lsn,
        count(*) as transactions,
        max_by(leaves_rows, commit_lsn) as ends_with_rows,
        to_json(array_distinct(flatten(collect_set(array_union(changed_tables, updated_tables)))))
            as touched_tables,
        to_json(array_distinct(flatten(
            collect_set(case when not leaves_rows then updated_tables end)
        ))) as updated_tables
    from (
        select
            window_to_lsn,
            begin_lsn,
            commit_lsn,
            changed_tables,
            updated_tables,
            {{ dbt_cdc._indent(dbt_cdc._surely_leaves_rows(), 12) }} as leaves_rows
        from {{ dbt_cdc._state_relation('scan_transactions') }}
        where window_to_lsn > '{{ scanned_lsn }}' and commit_lsn is not null
    )
    group by window_to_lsn
    order by window_to_lsn
    limit 1
{%- endmacro %}


{#- The window as one instance sees it: an instance that backfills starts at the log's start. -#}
{% macro _instance_window(instance, window) %}
    {% set window = dict(window) %}
    {% set is_new = instance.name | lower not in window.published %}
    {% do window.update(is_backfill=(
        is_new and instance.capture_from == 'log_start'
        and window.previous_lsn != dbt_cdc._zero_lsn()
    )) %}
    {% if window.is_backfill %}
        {% do window.update(previous_lsn=dbt_cdc._zero_lsn(), floor_lsn=dbt_cdc._zero_lsn()) %}
    {% endif %}
    {% do return(window) %}
{% endmacro %}


{#- Whether the window holds any change of the instance's table. -#}
{% macro _is_touched(instance, window) %}
    {% do return(
        window.is_backfill
        or dbt_cdc._source_of(instance) in window.touched_tables
    ) %}
{% endmacro %}


{% macro _source_of(instance) %}
    {% do return(
        {'source_schema': instance.source_schema, 'source_name': instance.source_name}
    ) %}
{% endmacro %}


{% macro _log_line(text) %}
    {% do log('cdc: ' ~ text, info=true) %}
{% endmacro %}
