{#- The rules that a tracked table's YAML must meet. -#}

{% macro _check_tracking_meta(node, meta) %}
    {% set who = "model '" ~ node.name ~ "'" %}
    {% for key in ['source_schema', 'source_name'] %}
        {% do dbt_cdc._check_is_text(who ~ ': config.meta.change_tracking.' ~ key, meta.get(key)) %}
    {% endfor %}
    {% for key in ['source_schema', 'source_name'] if not meta.get(key) %}
        {% do dbt_cdc.raise_cdc_error(
            22963, who ~ ' has no config.meta.change_tracking.' ~ key,
            'a tracked table is named by source_schema and source_name'
        ) %}
    {% endfor %}
    {% do dbt_cdc.raise_cdc_error(
        4997, 'change tracking of table ' ~ meta.source_schema ~ '.' ~ meta.source_name
        ~ ' needs a primary key',
        'set config.meta.change_tracking.primary_key of ' ~ who ~ ' to the list of its columns'
    ) if not dbt_cdc._checked_names(who ~ ': config.meta.change_tracking.primary_key', meta.get('primary_key')) %}
    {% set known = [
        'source_schema', 'source_name', 'primary_key', 'track_columns_updated', 'before_image',
    ] %}
    {% for key in meta if key not in known %}
        {% do dbt_cdc.raise_cdc_error(
            22963, who ~ ' has an unknown setting meta.change_tracking.' ~ key,
            'known are ' ~ known | join(', ')
        ) %}
    {% endfor %}
{% endmacro %}


{% macro _check_tracked_table(node, tracked) %}
    {% set who = 'change tracking of table ' ~ tracked.table %}
    {% set names = tracked.all_columns | map(attribute='name') | list %}
    {% do dbt_cdc.raise_cdc_error(
        22932, who ~ " stands in model '" ~ node.name ~ "'",
        "its side table, and so its model, is called '" ~ tracked.name ~ "'"
    ) if node.alias | default(node.name) != tracked.name %}
    {% for name in tracked.index_columns if name not in names %}
        {% do dbt_cdc.raise_cdc_error(
            4997, who ~ " has a primary key column '" ~ name ~ "' without a type",
            'list it under columns with its data_type, with the same letter case; there are '
            ~ (names | join(', ') or 'none')
        ) %}
    {% endfor %}
    {% do dbt_cdc._check_captured_columns(who, tracked.all_columns) %}
    {% for column in tracked.all_columns if column.name.lower().startswith('sys_change_') %}
        {% do dbt_cdc.raise_cdc_error(
            22975, who ~ " lists a column called '" ~ column.name ~ "'",
            'names that begin with sys_change_ are reserved for the side table itself'
        ) %}
    {% endfor %}
    {% for key, allowed in {
        'tracks_columns': [true, false], 'before_image': ['complete', 'partial']
    }.items() if tracked[key] not in allowed %}
        {% do dbt_cdc.raise_cdc_error(
            22963, who ~ " has '" ~ tracked[key] ~ "' for "
            ~ {'tracks_columns': 'track_columns_updated'}.get(key, key),
            'it is one of ' ~ allowed | join(', ')
        ) %}
    {% endfor %}
{% endmacro %}
