{#- What a model's YAML says of its capture instance, completed and checked. `node` is the model
    (in its own body) or its entry in `graph`. -#}
{% macro _capture_instance(node) %}
    {% set given = node.config.meta.get('cdc') or {} %}
    {% set meta = dbt_cdc._without_nulls(given) %}
    {% for key in ['source_schema', 'source_name', 'capture_instance'] %}
        {% do dbt_cdc._check_is_text("model '" ~ node.name ~ "': config.meta.cdc." ~ key, meta.get(key)) %}
    {% endfor %}
    {% for key in ['source_schema', 'source_name'] if not meta.get(key) %}
        {% do dbt_cdc.raise_cdc_error(
            22963, "model '" ~ node.name ~ "' has no config.meta.cdc." ~ key,
            'a capture instance names its source table: source_schema and source_name'
        ) %}
    {% endfor %}
    {% set columns = (node.columns.values() if node.columns is mapping else node.columns) | list %}
    {% set index_columns = dbt_cdc._checked_names(
        "model '" ~ node.name ~ "': config.meta.cdc.index_columns", meta.get('index_columns')) %}
    {% set instance = {
        'name': meta.get('capture_instance') or meta.source_schema ~ '_' ~ meta.source_name,
        'model': node.name,
        'source_schema': meta.source_schema,
        'source_name': meta.source_name,
        'table': meta.source_schema ~ '.' ~ meta.source_name,
        'columns': columns,
        'index_columns': index_columns,
        'supports_net_changes': meta.get('supports_net_changes', index_columns | length > 0),
        'role_name': meta.get('role_name'),
        'index_name': meta.get('index_name'),
        'filegroup_name': meta.get('filegroup_name'),
        'allow_partition_switch': meta.get('allow_partition_switch', true),
        'capture_from': meta.get('capture_from', 'now'),
        'before_image': meta.get('before_image', 'complete'),
        'lob_before_image': meta.get('lob_before_image', 'always'),
        'settings': 'meta.cdc',
    } %}
    {% do dbt_cdc._check_capture_instance(node, instance, given) %}
    {% do return(instance) %}
{% endmacro %}


{#- All capture instances of the project, by lower-case name. -#}
{% macro _capture_instances() %}
    {% set cache = dbt_cdc._invocation_cache() %}
    {% if 'instances' not in cache %}
        {% do dbt_cdc._check_is_no_unit_test() %}
        {% set instances, models = {}, {} %}
        {% for node in graph.nodes.values()
            if node.resource_type == 'model' and node.config.materialized == 'change_table' %}
            {% set instance = dbt_cdc._capture_instance(node) %}
            {% do instance.update(
                relation=dbt_cdc._model_relation(node), unique_id=node.unique_id,
                is_edited=dbt_cdc._is_edited(node)
            ) %}
            {% do dbt_cdc.raise_cdc_error(
                22926, "capture instance '" ~ instance.name ~ "' is declared twice, by models "
                ~ instances[instance.name | lower].model ~ ' and ' ~ instance.model,
                'give one of them another capture_instance'
            ) if instance.name | lower in instances %}
            {% do instances.update({instance.name | lower: instance}) %}
            {% do models.update({dbt_cdc._object_name(instance.name): instance.model}) %}
        {% endfor %}
        {% do dbt_cdc._check_two_instances_a_table(instances.values()) %}
        {% do dbt_cdc._check_listed(
            'cdc_capture_instances', dbt_cdc._listed('cdc_capture_instances'), models, 'capture instance') %}
        {#- what another thread has found, and planned for, stays -#}
        {% do cache.setdefault('instances', instances) %}
    {% endif %}
    {% do return(cache.instances) %}
{% endmacro %}


{#- Whether there is SQL around the model's change_table(): it may leave rows out. -#}
{% macro _is_edited(node) %}
    {% do return(modules.re.sub('\\s', '', node.raw_code) != '{{dbt_cdc.change_table()}}') %}
{% endmacro %}


{#- The instance of that name, or error 22981. -#}
{% macro _find_instance(capture_instance) %}
    {% set instances = dbt_cdc._capture_instances() %}
    {% set instance = instances.get((capture_instance or '') | string | lower) %}
    {% do dbt_cdc.raise_cdc_error(
        22981, "capture instance '" ~ (capture_instance or 'NULL') ~ "' does not exist",
        'this project has ' ~ (instances.keys() | sort | join(', ') or 'none')
    ) if not instance %}
    {% do return(instance) %}
{% endmacro %}
