{#- What a model's YAML says of its tracked table, completed and checked: a capture instance as far
    as reading the log goes. `columns` are the source's in their order, which gives the column ids;
    where updated columns are not tracked, only the key is read. -#}
{% macro _tracked_table(node) %}
    {% set meta = node.config.meta.get('change_tracking') or {} %}
    {% do dbt_cdc._check_tracking_meta(node, meta) %}
    {% set meta = dbt_cdc._without_nulls(meta) %}
    {% set columns = (node.columns.values() if node.columns is mapping else node.columns) | list %}
    {% set primary_key = [meta.primary_key] if meta.primary_key is string else meta.primary_key %}
    {% set table = meta.source_schema ~ '.' ~ meta.source_name %}
    {% set names = dbt_cdc._side_table_names(table) %}
    {% set name = node.alias | default(node.name) %}
    {% set tracked = {
        'name': name if name in names else names[0],
        'model': node.name,
        'source_schema': meta.source_schema,
        'source_name': meta.source_name,
        'table': table,
        'key': table | lower,
        'all_columns': columns,
        'columns': columns,
        'index_columns': primary_key,
        'tracks_columns': meta.get('track_columns_updated', false),
        'before_image': meta.get('before_image', 'complete'),
        'settings': 'meta.change_tracking',
    } %}
    {% do dbt_cdc._check_tracked_table(node, tracked) %}
    {% do tracked.update(columns=dbt_cdc._key_columns(tracked)) if not tracked.tracks_columns %}
    {% do return(tracked) %}
{% endmacro %}


{#- The columns of the key, in its order. -#}
{% macro _key_columns(tracked) %}
    {% set found = [] %}
    {% for name in tracked.index_columns %}
        {% for column in tracked.all_columns if column.name == name %}
            {% do found.append(column) %}
        {% endfor %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{#- All tracked tables of the project, by the names of their side tables. -#}
{% macro _tracked_tables() %}
    {% set cache = dbt_cdc._invocation_cache() %}
    {% if 'tracked_tables' not in cache %}
        {% do dbt_cdc._check_is_no_unit_test() %}
        {% set found, models = {}, {} %}
        {% for node in graph.nodes.values()
            if node.resource_type == 'model' and node.config.materialized == 'change_tracking_table' %}
            {% set tracked = dbt_cdc._tracked_table(node) %}
            {% do tracked.update(relation=dbt_cdc._model_relation(node), unique_id=node.unique_id) %}
            {% do dbt_cdc.raise_cdc_error(
                4996, 'change tracking of table ' ~ tracked.table ~ (' is enabled twice'
                    if found[tracked.name].key == tracked.key
                    else ' has the side table of table ' ~ found[tracked.name].table) ~ ', by models '
                ~ found[tracked.name].model ~ ' and ' ~ tracked.model, 'remove one of them'
            ) if tracked.name in found %}
            {% do found.update({tracked.name: tracked}) %}
            {% do models.update({tracked.name[16:]: tracked.model}) %}
        {% endfor %}
        {% do dbt_cdc._check_listed(
            'cdc_tracked_tables', dbt_cdc._listed('cdc_tracked_tables'), models, 'tracked table') %}
        {% do cache.setdefault('tracked_tables', found) %}
    {% endif %}
    {% do return(cache.tracked_tables) %}
{% endmacro %}


{#- A tracked table by its own name (schema.table) or its side table's, or error 22105. -#}
{% macro _find_tracked_table(table) %}
    {% set tracked = dbt_cdc._table_called(table, dbt_cdc._tracked_tables().values()) %}
    {% do return(tracked) if tracked %}
    {% do dbt_cdc.raise_cdc_error(
        22105, "change tracking is not enabled on table '" ~ (table if table is not none else 'null') ~ "'",
        'it is on '
        ~ (dbt_cdc._tracked_tables().values() | map(attribute='table') | sort | join(', ') or 'none')
        ~ '; enable_change_tracking prints the model that enables it'
    ) %}
{% endmacro %}
