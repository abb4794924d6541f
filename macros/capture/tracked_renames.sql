{#- What the source renames of tracked tables: later changes bear names that nobody asks for. -#}

{#- Stops where the window's DDL renames a table that is tracked and published, or a column of it that is read. One that
    is new was enabled knowing what its first window holds. Where another table takes the name with the same commit, as
    where a tool copies a table to alter it, changes go on under it. -#}
{% macro _check_tracked_renames(changes, published) %}
    {% for change in changes if change.ddl_command %}
        {% for tracked in dbt_cdc._tracked_tables().values()
            if tracked.table == change.source_schema ~ '.' ~ change.source_name
            and tracked.key in published.min_valid_versions %}
            {% set new_name = dbt_cdc._new_name_of_table(change.ddl_command, tracked.source_name) %}
            {% set beside = changes | selectattr('commit_lsn', 'equalto', change.commit_lsn) | list %}
            {% do dbt_cdc.raise_cdc_error(
                22931, 'table ' ~ tracked.table ~ ", which is tracked, was renamed to '" ~ new_name ~ "' at "
                ~ change.lsn ~ ', and later changes bear that name',
                'take models/' ~ tracked.model ~ '.sql, its YAML and its name in cdc_tracked_tables '
                ~ 'away, run dbt, disable_change_tracking, and enable_change_tracking of the new name: its clients '
                ~ 'start over'
            ) if new_name and not dbt_cdc._name_is_taken_by(change, beside) %}
            {% do dbt_cdc._check_renamed_columns(tracked, change) %}
        {% endfor %}
    {% endfor %}
{% endmacro %}


{% macro _check_renamed_columns(tracked, change) %}
    {% set renamed = dbt_cdc._renamed_columns(change.ddl_command) %}
    {% set respelled = dbt_cdc._respelled_columns(change.ddl_command) %}
    {% set listed = tracked.all_columns | map(attribute='name') | list %}
    {% set spelled = (change.columns or []) | map(attribute='name') | list %}
    {% set there = spelled | map('lower') | list %}
    {% for name in tracked.columns | map(attribute='name') %}
        {% set now = renamed.get(name | lower, respelled.get(name | lower)) %}
        {#- a name that is still there may be another column's now -#}
        {% if name | lower in renamed and now not in listed | map('lower')
            and (name | lower not in there or now in there)
            or name not in spelled and now in spelled and now not in listed %}
            {% do dbt_cdc.raise_cdc_error(
                22930, 'column ' ~ name ~ ' of table ' ~ tracked.table ~ ", which is tracked, was renamed to '" ~ now
                ~ "' at " ~ change.lsn,
                'add the new name at the end of its columns and leave the old one in them; if it is of the key or '
                ~ 'differs in letter case alone, take models/' ~ tracked.model ~ '.sql, its YAML and its name in '
                ~ 'cdc_tracked_tables away, run dbt, disable_change_tracking, and enable it again'
            ) %}
        {% endif %}
    {% endfor %}
{% endmacro %}
