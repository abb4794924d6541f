{#- What may not be edited of a tracked table, once it is entered. -#}

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


{#- The same where a query or a function is written: it would read keys and masks by the edit. -#}
{% macro _check_tracked_as_entered(tracked) %}
    {% set cache = dbt_cdc._invocation_cache() %}
    {% do cache.update(tracked_as_entered=dbt_cdc._read_tracking(dbt_cdc._zero_lsn()).tables
        if dbt_cdc._has_state('change_tracking_tables') else {}) if 'tracked_as_entered' not in cache %}
    {% do dbt_cdc._refuse_tracked_edit(tracked, cache.tracked_as_entered[tracked.name])
        if tracked.name in cache.tracked_as_entered %}
{% endmacro %}
