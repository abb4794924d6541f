{#- What is checked of a tracked table beside what its YAML alone tells. -#}

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


{% macro _has_masks(tracked) %}
    {% do return(load_cached_relation(tracked.relation) is not none and dbt_cdc._fetch(
        'select 1 from ' ~ tracked.relation ~ ' where sys_change_columns is not null limit 1') | length > 0) %}
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
    {% elif tracked.tracks_columns and names[:registered.columns | length] != registered.columns
        and (registered.is_track_columns_updated_on or dbt_cdc._has_masks(tracked)) %}
        {% do dbt_cdc.raise_cdc_error(
            22930, 'the columns of ' ~ who ~ ' were edited: they are ('
            ~ registered.columns | join(', ') ~ '), the YAML lists (' ~ names | join(', ') ~ ')',
            'a column keeps its place, which is its id: leave dropped columns in the list and add new '
            ~ 'ones at its end'
        ) %}
    {% elif tracked.tracks_columns and names != registered.columns
        or tracked.tracks_columns != registered.is_track_columns_updated_on %}
        {#- while it is off the places stay those of the masks that are there -#}
        {% do dbt_cdc._update_state('change_tracking_tables', dict(
            {'is_track_columns_updated_on': tracked.tracks_columns | lower},
            **({'columns': dbt_cdc._names(tracked.all_columns)} if tracked.tracks_columns else {})
        ), 'object_id = ' ~ dbt_cdc._object_id(tracked.table)) %}
        {% if load_cached_relation(dbt_cdc._tracking_versions()) is not none %}
            {% do dbt_cdc._create_tracking_functions([tracked]) %}
        {% endif %}
    {% endif %}
{% endmacro %}
