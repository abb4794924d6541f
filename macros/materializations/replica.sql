{#- The current state of a source table: the model's net changes applied in one MERGE. Rows that do not
    differ are not written. A first run creates the table from all rows at once. -#}
{% materialization replica, default %}
    {% set relation = this.incorporate(type='table') %}
    {% set existing = load_cached_relation(this) %}
    {% set consumer = dbt_cdc._materialized_consumer() %}

    {{ run_hooks(pre_hooks) }}

    {% do dbt_cdc._write_consumer(relation, consumer, dbt_cdc._as_written(compiled_code), ['__$operation']) %}

    {% do return(dbt_cdc._end_of_model(
        relation, 'nothing new', existing=existing, is_made=consumer.makes_table)) %}
{% endmaterialization %}
