{#- What is checked of a tracked table beside what its YAML alone tells. -#}

{#- A column in another letter case, or misspelt, would never count as updated. Of the `known` ones nothing is asked;
    beside them, or where `is_later`, the letter case alone: the source may get a column later, or have dropped it. -#}
{% macro _check_tracked_names(tables, known=[], is_later=false) %}
    {% set log = dbt_cdc._log_relation() %}
    {% set asked = tables | selectattr('tracks_columns') | list %}
    {% set found = dbt_cdc._logged_names(asked, log, 100) if asked else {} %}
    {% for tracked in asked if tracked.name in found %}
        {% set names, others = found[tracked.name], [] %}
        {% set declared = tracked.all_columns | map(attribute='name') | list %}
        {% set logged = dbt_cdc._logged_columns(tracked.all_columns) | map(attribute='name')
            | reject('in', known) | list %}
        {% do names.extend(dbt_cdc._all_names(tracked, log)) if logged | reject('in', names) | list %}
        {% set missing = logged | reject('in', names) | list %}
        {% for name in names if name not in declared
            and (not (known or is_later) or name | lower in missing | map('lower')) %}
            {% do others.append(name) %}
        {% endfor %}
        {% if missing and others %}
            {% do dbt_cdc.raise_cdc_error(
                22930, 'change tracking of table ' ~ tracked.table ~ ' tracks columns that no image has: '
                ~ missing | join(', ') ~ '; the images have '
                ~ names | unique(case_sensitive=true) | sort | join(', '),
                'name them as the source does, or leave out what it does not have yet'
            ) %}
        {% endif %}
    {% endfor %}
{% endmacro %}


{#- The same for touched tables without rows: the log may have had no record of them when they were entered. -#}
{% macro _check_tracked_names_of_window(window, tables) %}
    {% set touched = [] %}
    {% for tracked in tables
        if tracked.tracks_columns and load_cached_relation(tracked.relation) is not none
        and dbt_cdc._is_touched(tracked, window) %}
        {% do touched.append(tracked) %}
    {% endfor %}
    {% set with_rows = dbt_cdc._with_rows(touched | map(attribute='relation')) %}
    {% for tracked in touched if tracked.relation | string not in with_rows %}
        {% set registered = dbt_cdc._tracking_before(window.previous_lsn).read.tables[tracked.name] %}
        {#- one that was cleaned may list columns that the source has dropped -#}
        {% do dbt_cdc._check_tracked_names(
            [tracked], is_later=registered.min_valid_version | int > registered.begin_version | int) %}
    {% endfor %}
{% endmacro %}


{#- Whether there are masks that are read by the columns' places; while updated columns are tracked, rows. -#}
{% macro _has_masks(tracked, registered) %}
    {% do return(load_cached_relation(tracked.relation) is not none and dbt_cdc._fetch(
        'select 1 from ' ~ tracked.relation
        ~ ('' if registered.is_track_columns_updated_on else ' where sys_change_columns is not null')
        ~ ' limit 1') | length > 0) %}
{% endmacro %}


{#- A key is fixed; columns may follow after those that there are, for their places are their ids. A command that leaves
    the scan out `keeps_places` also of columns that there are no masks of: it does not move what is registered. -#}
{% macro _refuse_tracked_edit(tracked, registered, keeps_places=false) %}
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
    {% elif tracked.tracks_columns and names[:registered.columns | length] != registered.columns
        and (keeps_places or dbt_cdc._has_masks(tracked, registered)) %}
        {% do dbt_cdc.raise_cdc_error(
            22930, 'the columns of ' ~ who ~ ' were edited: they are ('
            ~ registered.columns | join(', ') ~ '), the YAML lists (' ~ names | join(', ') ~ ')',
            'a column keeps its place, which is its id: leave dropped columns in the list and add new '
            ~ 'ones at its end' ~ ('; a run with the scan takes other places while there are no masks' if keeps_places)
        ) %}
    {% endif %}
{% endmacro %}


{#- Refuses an edit, or registers it. -#}
{% macro _check_tracked_edit(tracked, registered) %}
    {% set names = tracked.all_columns | map(attribute='name') | list %}
    {% do dbt_cdc._refuse_tracked_edit(tracked, registered) %}
    {% if tracked.tracks_columns and names != registered.columns
        or tracked.tracks_columns != registered.is_track_columns_updated_on %}
        {% do dbt_cdc._check_tracked_names(
            [tracked],
            registered.columns if tracked.tracks_columns and dbt_cdc._has_masks(tracked, registered) else []) %}
        {#- first, as a run that dies behind them finds the edit again; they read masks from before it as well -#}
        {% if load_cached_relation(dbt_cdc._tracking_versions()) is not none %}
            {% do dbt_cdc._create_tracking_functions([tracked]) %}
        {% endif %}
        {#- while it is off the places stay those of the masks that are there -#}
        {% do dbt_cdc._update_state('change_tracking_tables', dict(
            {'is_track_columns_updated_on': tracked.tracks_columns | lower},
            **({'columns': dbt_cdc._names(tracked.all_columns)} if tracked.tracks_columns else {})
        ), 'object_id = ' ~ dbt_cdc._object_id(tracked.table)) %}
    {% endif %}
{% endmacro %}
