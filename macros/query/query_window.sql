{#- What a query function needs to know, its arguments checked: {relation, columns, key, from_lsn,
    to_lsn (SQL), option, capture_instance}. What only the published bounds can tell is checked
    where the query runs, see _validity_guard. -#}
{% macro _query_window(function, capture_instance, from_lsn, to_lsn, row_filter_option) %}
    {% set window = dbt_cdc._new_window(function, capture_instance) %}
    {% do return(window) if not execute %}
    {% set from_lsn = dbt_cdc._normalize_lsn(from_lsn, function ~ ': from_lsn') %}
    {% set to_lsn = dbt_cdc._normalize_lsn(to_lsn, function ~ ': to_lsn') %}
    {% set option = dbt_cdc._row_filter_option(window, row_filter_option) %}
    {#- where a model is only looked at before the first run, its ends are zeros -#}
    {% do dbt_cdc.raise_cdc_error(
        313, function ~ ': from_lsn ' ~ from_lsn ~ ' is above to_lsn ' ~ to_lsn, dbt_cdc._reversed_advice()
    ) if from_lsn > to_lsn and (dbt_cdc._is_asked() or dbt_cdc._published_state(window.mapping).high_end) %}
    {% do window.update(
        from_lsn="'" ~ from_lsn ~ "'", to_lsn="'" ~ to_lsn ~ "'", option=option
    ) %}
    {% do return(window) %}
{% endmacro %}


{#- A window without its ends. While dbt parses it is empty, for only what is read counts then. -#}
{% macro _new_window(function, capture_instance) %}
    {% if not execute %}
        {% do dbt_cdc._depend_on_instances([capture_instance]) %}
        {% do return({}) %}
    {% endif %}
    {% set instance = dbt_cdc._find_instance(capture_instance) %}
    {% set mapping = dbt_cdc._mapping_to_read(instance.name) %}
    {% do dbt_cdc._check_published(instance, mapping) %}
    {% do dbt_cdc._check_as_entered(instance, mapping) %}
    {% set window = dbt_cdc._function_window(function, instance) %}
    {% do window.update(
        instance=instance, relation=dbt_cdc._change_table_to_read(instance), mapping=mapping,
        option_sql=none) %}
    {% do return(window) %}
{% endmacro %}


{#- An instance that no run has published yet is an error where its query would run: the bounds that check
    the query do not know it, or have no high end of it (a first run that died). -#}
{% macro _check_published(instance, mapping) %}
    {% set name = instance.name | lower %}
    {% if dbt_cdc._is_asked()
        and name not in dbt_cdc._resolved_consumer().get('intervals', {})
        and not dbt_cdc._published_state(mapping).intervals.get(name, {}).high_end %}
        {% do exceptions.raise_compiler_error(dbt_cdc._unpublished_text(instance.name)) %}
    {% endif %}
{% endmacro %}


{#- Masks and keys are those of the instance as it was entered; the next scan would stop at the edit, too. A consumer
    has asked that for all that it reads. -#}
{% macro _check_as_entered(instance, mapping=dbt_cdc._state_relation('lsn_time_mapping')) %}
    {% if dbt_cdc._is_asked() and not dbt_cdc._resolved_consumer() and not dbt_cdc._is_unit_test() %}
        {% set cache = dbt_cdc._invocation_cache() %}
        {% do cache.update(instances_as_entered=dbt_cdc._registered_if_any()) if 'instances_as_entered' not in cache %}
        {% do dbt_cdc._check_unedited(instance, cache.instances_as_entered[instance.name | lower])
            if instance.name | lower in cache.instances_as_entered
            and mapping | string == dbt_cdc._state_relation('lsn_time_mapping') | string %}
    {% endif %}
{% endmacro %}


{% macro _row_filter_option(window, row_filter_option) %}
    {% set option = (row_filter_option or '') | string | trim | lower %}
    {% do dbt_cdc.raise_cdc_error(
        313, window.function ~ ": row_filter_option '" ~ (row_filter_option or 'NULL')
        ~ "' is unknown", "give '" ~ window.options | join("' or '") ~ "'"
    ) if option not in window.options %}
    {% do return(option) %}
{% endmacro %}


{#- The part that a macro and a persistent function share. -#}
{% macro _function_window(function, instance) %}
    {% set is_net = 'net' in function %}
    {% do dbt_cdc.raise_cdc_error(
        208, "capture instance '" ~ instance.name ~ "' has no net changes",
        'they need index_columns and supports_net_changes: true when the instance is made'
    ) if is_net and not instance.supports_net_changes %}
    {% do return({
        'function': function, 'capture_instance': instance.name, 'relation': instance.relation,
        'columns': instance.columns, 'key': dbt_cdc._quoted(instance.index_columns),
        'is_partial': instance.before_image == 'partial',
        'options': ['all', 'all with mask', 'all with merge'] if is_net
            else ['all', 'all update old'],
    }) %}
{% endmacro %}


{#- Output columns, and those of the guard's row that never comes. -#}
{% macro _query_columns(window, metadata_names) %}
    {% set names = [] %}
    {% set checked = [] %}
    {% for name, data_type in dbt_cdc._typed_columns(window.columns, metadata_names).items() %}
        {% do names.append(dbt_cdc._column(name)) %}
        {% do checked.append(dbt_cdc._checked_column(name, data_type)) %}
    {% endfor %}
    {% do return({'names': names, 'checked': checked}) %}
{% endmacro %}


{#- Name -> type of metadata and captured columns. -#}
{% macro _typed_columns(columns, metadata_names) %}
    {% set types = dbt_cdc._metadata_columns() %}
    {% set typed = {} %}
    {% for name in metadata_names %}
        {% do typed.update({name: types[name]}) %}
    {% endfor %}
    {% for column in columns %}
        {% do typed.update({column.name: dbt_cdc._expression_type(column.data_type)}) %}
    {% endfor %}
    {% do return(typed) %}
{% endmacro %}


{#- Spark takes char and varchar as columns of tables only. -#}
{% macro _expression_type(data_type) %}
    {% do return('string' if dbt_cdc._type_family(data_type) == 'text' else data_type) %}
{% endmacro %}
