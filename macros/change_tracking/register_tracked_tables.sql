{#- Enters new tracked tables into change_tracking_tables, beginning after the last published
    position, or after a window that was opened without them. A table whose model was away while
    windows were published begins anew. -#}
{% macro _register_tracked_tables(state, window) %}
    {% do return(none) if not dbt_cdc._tracked_tables() %}
    {% set before = dbt_cdc._tracking_before(state.scanned_lsn) %}
    {% set published, read = before.published, before.read %}
    {% set new, returned = [], [] %}
    {% for name, tracked in dbt_cdc._tracked_tables().items() %}
        {% if name not in read.tables %}
            {% do new.append(tracked) %}
            {% do dbt_cdc._drop_outdated(tracked.relation, dbt_cdc._side_table_columns(tracked)) %}
            {#- of an earlier one, whose disabling died -#}
            {% if tracked.key in published.min_valid_versions %}
                {% do dbt_cdc._forget_tracked_table(tracked.key) %}
                {% do published.min_valid_versions.pop(tracked.key) %}
            {% endif %}
        {% else %}
            {% do dbt_cdc._check_tracked_edit(tracked, read.tables[name]) %}
            {% do returned.append(tracked) if dbt_cdc._was_away(read.tables[name], published, state.scanned_lsn) %}
        {% endif %}
    {% endfor %}
    {% do dbt_cdc._check_tables_are_logged(new, dbt_cdc._log_relation()) if new %}
    {% do dbt_cdc._check_tracked_names(new) %}
    {% if new or returned %}
        {% do dbt_cdc._enter_database() %}
        {% for tracked in returned %}
            {% do dbt_cdc._remove_uncounted_rows(read.tables[tracked.name], read.version) %}
        {% endfor %}
        {% set begin_lsn = window.to_lsn or state.scanned_lsn %}
        {% set version = read.version + dbt_cdc._count_versions(window) %}
        {#- what a client has from before it went lacks what came since, also where no version did -#}
        {% do dbt_cdc._take_a_version(begin_lsn, published) if returned and version == read.version %}
        {#- one may be taken at the window's end by a table that was disabled since -#}
        {% set begin_version = [version, dbt_cdc._read_tracking(begin_lsn).version] | max
            if returned or window.to_lsn else version %}
        {% do dbt_cdc._enter_tracked_tables(new, begin_version, begin_lsn) %}
        {% for tracked in returned %}
            {% do dbt_cdc._update_state('change_tracking_tables', {
                'begin_version': begin_version,
                'min_valid_version': 'greatest(min_valid_version, ' ~ begin_version ~ ')',
                'begin_lsn': dbt_cdc._literal(begin_lsn),
            }, 'object_id = ' ~ dbt_cdc._object_id(tracked.table)) %}
        {% endfor %}
        {% do dbt_cdc._invocation_cache().tracking_before.update(
            read=dbt_cdc._read_tracking(state.scanned_lsn)) %}
    {% endif %}
{% endmacro %}


{#- What a table that was away has of a window that others have published without it: later windows give others these
    versions, and would find them there. A run that is further has let it begin anew already. -#}
{% macro _remove_uncounted_rows(registered, version) %}
    {% do run_query(dbt_cdc._in_turn(dbt_cdc._unless_exists(
        'select 1 from ' ~ dbt_cdc._state_relation('change_tracking_tables') ~ ' where object_id = '
            ~ registered.object_id ~ " and begin_lsn > '" ~ registered.begin_lsn ~ "'",
        'delete from ' ~ registered.relation ~ ' where sys_change_version > ' ~ version
    ))) if load_cached_relation(registered.relation) is not none %}
{% endmacro %}


{#- A version of no transaction, as of the statement that takes a table out or enables it: one at an LSN, also of two
    runs at once, unless clients are `shown` it already. It is later than any: rows of a window that nobody finishes may
    have the next ones. -#}
{% macro _take_a_version(lsn, shown) %}
    {% set last = dbt_cdc._fetch(
        'select coalesce(max(commit_ts), 0) as version, cast(coalesce(max(commit_time), now()) as string) as time from '
        ~ dbt_cdc._state_relation('syscommittab'))[0] %}
    {% set version = [last.version | int, shown.current_version or 0] | max + 1 %}
    {% do dbt_cdc._insert_state('syscommittab', [{
        'commit_ts': version, 'xdes_id': 'ALTER TABLE', 'commit_lsn': lsn, 'commit_time': last.time,
    }], 'commit_ts = appended.commit_ts or xdes_id = appended.xdes_id and commit_lsn = appended.commit_lsn'
        ~ ' and commit_ts > ' ~ (shown.current_version or 0)) %}
{% endmacro %}


{#- How many versions an open window has. -#}
{% macro _count_versions(window) %}
    {% do return(0) if not window.to_lsn %}
    {% set numbered = dict(window, versions=dbt_cdc._window_versions(window)) %}
    {% do return(dbt_cdc._fetch(
        'select count(*) as transactions from (' ~ dbt_cdc._versions_sql(numbered) ~ ')'
    )[0].transactions | int) %}
{% endmacro %}


{% macro _enter_tracked_tables(tables, begin_version, begin_lsn) %}
    {% set rows = [] %}
    {% for tracked in tables %}
        {% do rows.append(dict(
            tracked, object_id=dbt_cdc._object_id(tracked.table), is_track_columns_updated_on=tracked.tracks_columns,
            begin_version=begin_version, cleanup_version=0, min_valid_version=begin_version, begin_lsn=begin_lsn,
            primary_key=dbt_cdc._key_columns(tracked) | map(attribute='name') | list,
            columns=tracked.all_columns | map(attribute='name') | list)) %}
    {% endfor %}
    {% do dbt_cdc._insert_state('change_tracking_tables', rows, 'object_id = appended.object_id') %}
{% endmacro %}


{#- The row of the database, with SQL Server's defaults; set_change_tracking changes it. -#}
{% macro _enter_database() %}
    {% do dbt_cdc._insert_state('change_tracking_databases', [{
        'database_id': 0, 'is_auto_cleanup_on': true, 'retention_period': 2, 'retention_period_units': 3,
        'retention_period_units_desc': 'DAYS', 'invalid_cleanup_version': 0, 'hardened_cleanup_version': 0,
    }], 'true')
        if not dbt_cdc._fetch('select 1 from ' ~ dbt_cdc._state_relation('change_tracking_databases')) %}
{% endmacro %}


{#- The columns of a side table in physical order: name -> type. `sys_change_existed` tells whether the row
    was there before the transaction. `sys_change_columns` has a bit for each column id, 56 in a number; NULL
    are all columns. -#}
{% macro _side_table_columns(tracked) %}
    {% set columns = {
        'sys_change_version': 'bigint',
        'sys_change_creation_version': 'bigint',
        'sys_change_operation': 'string',
        'sys_change_existed': 'boolean',
        'sys_change_columns': 'array<bigint>',
        'sys_change_context': 'string',
    } %}
    {% for column in dbt_cdc._key_columns(tracked) %}
        {% do columns.update({column.name: column.data_type}) %}
    {% endfor %}
    {% do return(columns) %}
{% endmacro %}
