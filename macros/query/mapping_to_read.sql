{#- The lsn_time_mapping whose bounds a query takes: the one beside its change table, wherever `--defer`
    finds that. Without a `capture_instance`, beside any change table that the model reads. -#}
{% macro _mapping_to_read(capture_instance=none) %}
    {% do dbt_cdc._check_is_no_unit_test() %}
    {% set mapping = ref('dbt_cdc', 'lsn_time_mapping') %}
    {% set own = dbt_cdc._state_relation('lsn_time_mapping') %}
    {% do return(own) if dbt_cdc._resolved_consumer() %}
    {% for instance in (dbt_cdc._capture_instances().values() if dbt_cdc._parents_of_model() else [])
        if instance.unique_id in dbt_cdc._parents_of_model()
        and (capture_instance is none or instance.name | lower == capture_instance | lower) %}
        {% set relation = dbt_cdc._change_table_to_read(instance) %}
        {% if relation.incorporate(event_time_filter=none) | string == instance.relation | string %}
            {% do return(own) %}
        {% elif mapping | string == own | string %}
            {% do return(dbt_cdc._mapping_beside(relation)) %}
        {% endif %}
    {% endfor %}
    {% do return(mapping) %}
{% endmacro %}


{#- A query reads where `ref` finds the change table; what consumes keeps its bookmarks in the target, and so
    reads there. As `ref` does, `--empty` reads no rows. -#}
{% macro _change_table_to_read(instance) %}
    {% do return(ref(instance.model))
        if instance.unique_id in dbt_cdc._parents_of_model() and not dbt_cdc._resolved_consumer() %}
    {% do return(instance.relation.incorporate(limit=0) if flags.EMPTY else instance.relation) %}
{% endmacro %}
