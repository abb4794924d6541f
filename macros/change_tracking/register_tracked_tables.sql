{#- Enters new tracked tables into change_tracking_tables, beginning after the last published
    position, or after a window that was opened without them. A table whose model was away while
    windows were published begins anew. -#}
{% macro _register_tracked_tables(state, window) %}
    {% if not dbt_cdc._tracked_tables() %}
        {% do return(none) %}
    {% endif %}
    {% set before = dbt_cdc._tracking_before(state.scanned_lsn) %}
    {% set published, read = before.published, before.read %}
    {% set new, returned = [], [] %}
    {% for name, tracked in dbt_cdc._tracked_tables().items() %}
        {% if name not in read.tables %}
            {% do new.append(tracked) %}
            {#- of an earlier one, whose disabling died -#}
            {% if tracked.key in published.min_valid_versions %}
                {% do dbt_cdc._forget_tracked_table(tracked.key) %}
                {% do published.min_valid_versions.pop(tracked.key) %}
            {% endif %}
        {% else %}
            {% do dbt_cdc._check_tracked_edit(tracked, read.tables[name]) %}
            {% if published.is_shown and read.tables[name].begin_lsn < state.scanned_lsn and (
                tracked.key not in published.min_valid_versions or published.scanned_lsn < state.scanned_lsn) %}
                {% do returned.append(tracked) %}
            {% endif %}
        {% endif %}
    {% endfor %}
    {% do dbt_cdc._check_tables_are_logged(new, dbt_cdc._log_relation()) if new %}
    {% do dbt_cdc._check_tracked_names(new) %}
    {% if new or returned %}
        {% do dbt_cdc._enter_database() %}
        {% set begin_lsn = window.to_lsn or state.scanned_lsn %}
        {#- what a client has from before it went lacks what came since, also where no version did -#}
        {% do dbt_cdc._take_a_version(begin_lsn) if returned and not window.to_lsn %}
        {% set read = dbt_cdc._read_tracking(state.scanned_lsn) if returned else read %}
        {% set begin_version = dbt_cdc._version_after(window, read) %}
        {% do dbt_cdc._enter_tracked_tables(new, begin_version, begin_lsn) %}
        {% for tracked in returned %}
            {% do dbt_cdc._update_state('change_tracking_tables', {
                'begin_version': begin_version,
                'min_valid_version': begin_version + (1 if window.to_lsn and begin_version == read.version else 0),
                'begin_lsn': dbt_cdc._literal(begin_lsn),
            }, 'object_id = ' ~ dbt_cdc._object_id(tracked.table)) %}
        {% endfor %}
        {% do dbt_cdc._invocation_cache().tracking_before.update(
            read=dbt_cdc._read_tracking(state.scanned_lsn)) %}
    {% endif %}
{% endmacro %}


{#- A version of no transaction, as of the statement that takes a table out or enables it: one at an LSN, also of two
    runs at once. -#}
{% macro _take_a_version(lsn) %}
    {% do dbt_cdc._insert_state('syscommittab', [{
        'commit_ts': dbt_cdc._read_tracking(lsn).version + 1, 'xdes_id': 'ALTER TABLE', 'commit_lsn': lsn,
        'commit_time': dbt_cdc._fetch('select cast(coalesce(max(commit_time), now()) as string) as time from '
            ~ dbt_cdc._state_relation('syscommittab'))[0].time,
    }], 'commit_ts = appended.commit_ts or xdes_id = appended.xdes_id and commit_lsn = appended.commit_lsn') %}
{% endmacro %}


{#- A column in another letter case, or misspelt, would never count as updated. -#}
{% macro _check_tracked_names(tables) %}
    {% set asked = tables | selectattr('tracks_columns') | list %}
    {% set found = dbt_cdc._logged_names(asked, dbt_cdc._log_relation(), 100) if asked else {} %}
    {% for tracked in asked if tracked.name in found %}
        {% set names = found[tracked.name] %}
        {% set missing = tracked.all_columns | map(attribute='name') | reject('in', names) | list %}
        {% set declared = tracked.all_columns | map(attribute='name') | list %}
        {% if missing and names | reject('in', declared) | list %}
            {% do dbt_cdc.raise_cdc_error(
                22930, 'change tracking of table ' ~ tracked.table ~ ' tracks columns that no image has: '
                ~ missing | join(', ') ~ '; the images have ' ~ names | sort | join(', '),
                'name them as the source does, or leave out what it does not have yet'
            ) %}
        {% endif %}
    {% endfor %}
{% endmacro %}


{#- The last version of the window, or where there is none, before the next one. -#}
{% macro _version_after(window, read) %}
    {% if not window.to_lsn %}
        {% do return(read.version) %}
    {% endif %}
    {% set numbered = dict(window, versions=dbt_cdc._window_versions(window)) %}
    {% do return(read.version + dbt_cdc._fetch(
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
    {% if not dbt_cdc._fetch('select 1 from ' ~ dbt_cdc._state_relation('change_tracking_databases')) %}
        {% do dbt_cdc._insert_state('change_tracking_databases', [{
            'database_id': 0, 'is_auto_cleanup_on': true, 'retention_period': 2, 'retention_period_units': 3,
            'retention_period_units_desc': 'DAYS', 'invalid_cleanup_version': 0, 'hardened_cleanup_version': 0,
        }], 'true') %}
    {% endif %}
{% endmacro %}


{#- A key is fixed; columns may follow after those that there are, for their places are their ids. -#}
{% macro _check_tracked_edit(tracked, registered) %}
    {% set names = tracked.all_columns | map(attribute='name') | list %}
    {% set who = 'change tracking of table ' ~ tracked.table %}
    {% if tracked.table != registered.table %}
        {% do dbt_cdc.raise_cdc_error(
            22960, 'the name of ' ~ who ~ ' was edited: it is on ' ~ registered.table,
            'take the edit back; where the log spells it so, disable_change_tracking of ' ~ registered.table
            ~ ' and run again'
        ) %}
    {% elif tracked.index_columns != registered.primary_key %}
        {% do dbt_cdc.raise_cdc_error(
            4997, 'the primary key of ' ~ who ~ ' was edited: it is ('
            ~ registered.primary_key | join(', ') ~ '), the YAML lists ('
            ~ tracked.index_columns | join(', ') ~ ')',
            'take the edit back, or disable_change_tracking and enable it again'
        ) %}
    {% elif tracked.tracks_columns and registered.is_track_columns_updated_on
        and names[:registered.columns | length] != registered.columns %}
        {% do dbt_cdc.raise_cdc_error(
            22930, 'the columns of ' ~ who ~ ' were edited: they are ('
            ~ registered.columns | join(', ') ~ '), the YAML lists (' ~ names | join(', ') ~ ')',
            'a column keeps its place, which is its id: leave dropped columns in the list and add new '
            ~ 'ones at its end'
        ) %}
    {% elif names != registered.columns
        or tracked.tracks_columns != registered.is_track_columns_updated_on %}
        {% do dbt_cdc._update_state('change_tracking_tables', {
            'is_track_columns_updated_on': tracked.tracks_columns | lower,
            'columns': dbt_cdc._names(tracked.all_columns),
        }, 'object_id = ' ~ dbt_cdc._object_id(tracked.table)) %}
        {% if load_cached_relation(dbt_cdc._tracking_versions()) is not none %}
            {% do dbt_cdc._create_tracking_functions([tracked]) %}
        {% endif %}
    {% endif %}
{% endmacro %}
