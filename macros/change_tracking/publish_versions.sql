{#- Publication of change tracking: new tables' functions, the window's transactions into syscommittab,
    then the view of versions. Each step can be repeated; readers see the window with the last one. Validity
    intervals follow, and say how far the log is scanned where there are any: a run that dies in
    between publishes again. -#}
{% macro _publish_versions(window) %}
    {% if dbt_cdc._tracked_tables() %}
        {% do dbt_cdc._announce_tracked_tables(window.versions.published) %}
        {% set rows %}
            select commit_ts, xdes_id, commit_lsn, commit_time
            from ({{ dbt_cdc._indent(dbt_cdc._versions_sql(window), 12) }})
        {% endset %}
        {% set read = dbt_cdc._write_and_fetch(
            dbt_cdc._insert_once(
                dbt_cdc._state_relation('syscommittab'), rows,
                'commit_ts > ' ~ window.versions.base ~ " and commit_lsn > '" ~ window.previous_lsn ~ "'"),
            dbt_cdc._read_tracking_sql(window.to_lsn)
        ) %}
        {% do dbt_cdc._begin_anew(window.versions.emptied) %}
        {% do dbt_cdc._publish_tracking_versions(
            window.to_lsn,
            window.versions.published,
            dbt_cdc._tracking_of(read) if not window.versions.emptied else none,
            dbt_cdc._tracked_keys() | reject('in', window.versions.returned) | list) %}
    {% elif load_cached_relation(dbt_cdc._tracking_versions()) is not none %}
        {#- the last one has left; how far its clients were told stays, for when it comes back -#}
        {% set shown = dbt_cdc._tracking_state() %}
        {% do dbt_cdc._publish_tracking_versions(shown.scanned_lsn, shown, tracked=[]) if shown.min_valid_versions %}
    {% endif %}
{% endmacro %}


{#- A table that was truncated or dropped has lost its rows untracked: it begins anew at that version. -#}
{% macro _begin_anew(emptied) %}
    {% for table in emptied %}
        {% set version = dbt_cdc._fetch(
            'select max(commit_ts) as version from ' ~ dbt_cdc._state_relation('syscommittab')
            ~ " where commit_lsn = '" ~ table.commit_lsn ~ "'")[0].version %}
        {% do dbt_cdc._update_state('change_tracking_tables', {
            'begin_version': version, 'min_valid_version': 'greatest(min_valid_version, ' ~ version ~ ')',
        }, 'begin_version < ' ~ version ~ ' and object_id = '
            ~ dbt_cdc._object_id(table.source_schema ~ '.' ~ table.source_name)) %}
    {% endfor %}
{% endmacro %}


{#- Functions of tables that were not published so far; they raise until their table is. -#}
{% macro _announce_tracked_tables(state) %}
    {% set new = [] %}
    {% for tracked in dbt_cdc._tracked_tables().values()
        if not state.is_shown or tracked.key not in state.min_valid_versions %}
        {% do new.append(tracked) %}
    {% endfor %}
    {% if new and not state.is_shown %}
        {#- whatever another first run has made is further -#}
        {% do run_query(dbt_cdc._unless_overtaken(
            dbt_cdc._tracking_versions(), 'true', dbt_cdc._tracking_versions_sql(
                state.current_version, state.scanned_lsn, state.min_valid_versions))) %}
        {% do dbt_cdc._remember(dbt_cdc._tracking_versions()) %}
    {% endif %}
    {% do dbt_cdc._create_tracking_functions(new) if new %}
{% endmacro %}


{#- Replaces the view from the tables, until it shows what they hold: a cleanup or another run may move them
    in between. No end in it moves back. `shown` is what was published, `read` what the tables hold, where
    that is known; after a write both are read again, with it in one statement. A publication shows the tables that are
    `tracked`. What only moves versions leaves all that were shown: the numbers of a window that stands open count a
    table whose model is gone. -#}
{% macro _publish_tracking_versions(scanned_lsn, shown=none, read=none, tracked=none, attempts=5) %}
    {% set view = dbt_cdc._tracking_versions() %}
    {% set shown = shown or dbt_cdc._tracking_state() %}
    {% set last_lsn = [scanned_lsn, shown.scanned_lsn] | max %}
    {% set read = read or dbt_cdc._read_tracking(last_lsn) %}
    {% set versions = {
        'current_version': [read.version, shown.current_version or 0] | max,
        'scanned_lsn': last_lsn,
        'min_valid_versions': dbt_cdc._min_valid_versions(
            read.tables, shown.min_valid_versions if tracked is none else tracked),
        'is_shown': true,
    } %}
    {#- where a table of the state was taken back, clients have been told of more -#}
    {% for key, version in versions.min_valid_versions.items() if key in shown.min_valid_versions %}
        {% do versions.min_valid_versions.update({key: [version, shown.min_valid_versions[key]] | max}) %}
    {% endfor %}
    {% if versions != shown and attempts %}
        {% set replace = dbt_cdc._unless_overtaken(
            view, dbt_cdc._shows_further(last_lsn, versions.min_valid_versions), dbt_cdc._tracking_versions_sql(
                versions.current_version, last_lsn, versions.min_valid_versions)) %}
        {% set rows = dbt_cdc._write_and_fetch(
            replace, dbt_cdc._read_tracking_sql(last_lsn, dbt_cdc._shown_tracking_sql())) %}
        {% do dbt_cdc._remember(view) %}
        {% do dbt_cdc._publish_tracking_versions(
            scanned_lsn, dbt_cdc._shown_of(rows[0]), dbt_cdc._tracking_of(rows), tracked, attempts - 1) %}
    {% elif versions != shown %}
        {% do dbt_cdc._log_line(
            'change tracking: other commands keep moving what is published; ' ~ view
            ~ ' shows the rest with the next one') %}
    {% endif %}
{% endmacro %}


{#- Whether the view has been brought further: by a run, or by a cleanup. -#}
{% macro _shows_further(scanned_lsn, min_valid_versions) %}
    {% set further = ["scanned_lsn > '" ~ scanned_lsn ~ "'"] %}
    {% for table, version in min_valid_versions | dictsort %}
        {% do further.append('min_valid_versions[' ~ dbt_cdc._literal(table) ~ '] > ' ~ version ~ 'L') %}
    {% endfor %}
    {% do return(further | join('\nor ')) %}
{% endmacro %}


{#- One row, so that Spark takes its values for literals while it plans a query. -#}
{% macro _tracking_versions_sql(current_version, scanned_lsn, min_valid_versions) -%}
    {%- set versions = [] -%}
    {%- for table, version in min_valid_versions | dictsort -%}
        {%- do versions.append(dbt_cdc._literal(table) ~ ', ' ~ version ~ 'L') -%}
    {%- endfor -%}
    {%- set query -%}
    select
        {{ 'cast(null as bigint)' if current_version is none else current_version ~ 'L' }} {# -#}
        as current_version,
        '{{ scanned_lsn }}' as scanned_lsn,
        cast(map({{ versions | join(', ') }}) as map<string, bigint>) as min_valid_versions
    {%- endset -%}
    {%- do dbt_cdc._check_holds_view(query, versions | length ~ ' tracked tables') if query | length > 32000 -%}
    create or replace view {{ dbt_cdc._tracking_versions() }} as
    {{ query }}
{%- endmacro %}


{#- The view of versions names it no more; again, where a run has brought the view further in between. -#}
{% macro _forget_tracked_table(key, attempts=5) %}
    {% set state = dbt_cdc._tracking_state() %}
    {% if state.is_shown and key in state.min_valid_versions and attempts %}
        {% do state.min_valid_versions.pop(key) %}
        {% do run_query(dbt_cdc._unless_overtaken(
            dbt_cdc._tracking_versions(), dbt_cdc._shows_further(state.scanned_lsn, state.min_valid_versions),
            dbt_cdc._tracking_versions_sql(
                state.current_version, state.scanned_lsn, state.min_valid_versions))) %}
        {% do dbt_cdc._forget_tracked_table(key, attempts - 1) %}
    {% endif %}
{% endmacro %}
