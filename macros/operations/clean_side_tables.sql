{#- Removes the invalid rows of side tables, one table after the other (docs/decisions/0005). Each gets
    `removed_rows`: how many, or 'failed', which is written down and stops no other. -#}
{% macro _clean_side_tables(tables, version, is_job=true, threshold=none) %}
    {% set clean = [] %}
    {% for table in tables %}
        {% do dbt_cdc._log_line(
            'change tracking cleanup: ' ~ loop.index ~ ' of ' ~ tables | length ~ ': ' ~ table.name
            ~ ' up to version ' ~ table.mark
        ) if is_job %}
        {% do table.update(removed_rows=dbt_cdc._clean_versions(
            table.relation, 'sys_change_version', table.mark, table.table, threshold)) %}
        {% do clean.append(table.object_id)
            if table.removed_rows != 'failed' and (table.cleanup_version or 0) < table.mark %}
    {% endfor %}
    {% do dbt_cdc._update_state(
        'change_tracking_tables', {'cleanup_version': 'greatest(' ~ version ~ ', min_valid_version)'},
        'object_id in (' ~ clean | join(', ') ~ ')') if clean %}
{% endmacro %}


{#- Removes rows up to `mark`, `threshold` a DELETE: how many, or 'failed'. Before the first one goes, there is a
    row of it in mschange_tracking_history, which has no end_time until all have gone. -#}
{% macro _clean_versions(relation, column, mark, table_name=none, threshold=none) %}
    {% set condition = column ~ ' <= ' ~ mark %}
    {% set is_there = load_cached_relation(relation) is not none %}
    {% set dead = dbt_cdc._dead_versions(relation, condition) if is_there %}
    {% do return(0) if is_there and not dead %}
    {% set started = dbt_cdc._now() %}
    {% do dbt_cdc._insert_state('mschange_tracking_history', [{
        'internal_table_name': relation.identifier, 'table_name': table_name, 'start_time': started,
        'cleanup_version': mark,
    }]) %}
    {% set removed = dbt_cdc._remove_rows(relation, condition, dead, cut_by=column, threshold=threshold)
        if is_there else 'failed' %}
    {#- fewer than were counted: another cleanup has removed them, or there were too many batches -#}
    {% if removed != 'failed' and removed < dead and dbt_cdc._dead_versions(relation, condition) %}
        {% set removed = 'failed' %}
    {% endif %}
    {% set comment = none if removed != 'failed' else dbt_cdc._error_text(
        22123, 'the rows could not be removed' if is_there else 'the table is not there',
        'the next cleanup tries again' if is_there else 'restore it, or run disable_change_tracking') %}
    {% do dbt_cdc._update_state('mschange_tracking_history', {
        'end_time': 'current_timestamp()', 'rows_cleaned_up': 0 if removed == 'failed' else removed or 0,
        'comments': dbt_cdc._literal(comment),
    }, 'internal_table_name = ' ~ dbt_cdc._literal(relation.identifier)
        ~ ' and start_time = ' ~ dbt_cdc._time_literal(started)) %}
    {% do return(removed) %}
{% endmacro %}


{% macro _dead_versions(relation, condition) %}
    {% do return(dbt_cdc._fetch('select count(*) as dead from ' ~ relation ~ ' where ' ~ condition)[0].dead | int) %}
{% endmacro %}
