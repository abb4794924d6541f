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
        {% do dbt_cdc.raise_cdc_error(
            22930, 'change tracking of table ' ~ tracked.table ~ ' tracks columns that no image has: '
            ~ missing | join(', ') ~ '; the images have '
            ~ names | unique(case_sensitive=true) | sort | join(', '),
            'name them as the source does, or leave out what it does not have yet'
        ) if missing and others %}
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
            {% do dbt_cdc._tell_of_old_functions([tracked.table]) %}
        {% endif %}
        {#- while it is off the places stay those of the masks that are there -#}
        {% do dbt_cdc._update_state('change_tracking_tables', dict(
            {'is_track_columns_updated_on': tracked.tracks_columns | lower},
            **({'columns': dbt_cdc._names(tracked.all_columns)} if tracked.tracks_columns else {})
        ), 'object_id = ' ~ dbt_cdc._object_id(tracked.table)) %}
    {% endif %}
{% endmacro %}
