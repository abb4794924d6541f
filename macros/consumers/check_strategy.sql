{#- Strategies that take a window for all that a part of the table has. Asked by the pre-hook: what is raised before,
    dbt does not tell of a model of batches. -#}
{% macro _check_strategy(kind) %}
    {% set strategy = (config.get('incremental_strategy') or '') | lower %}
    {% if kind == 'incremental' and (
        strategy == 'microbatch' or strategy == 'insert_overwrite' and not config.get('partition_by')) %}
        {% do dbt_cdc.raise_cdc_error(
            22938, 'model ' ~ model.name ~ " takes new_changes and its incremental_strategy is '" ~ strategy ~ "'" ~ (
                ': each batch would take all changes for its own, and the bookmark moves behind those that none has'
                if strategy == 'microbatch' else
                ' without partition_by: each run would replace the whole table, a run without changes by nothing'),
            "set incremental_strategy to 'append' or 'merge'" ~ (
                ', or name the partitions that a run writes anew as partition_by' if strategy != 'microbatch')
        ) %}
    {% endif %}
{% endmacro %}
