{#- Every version that a source's rows have had: valid from its commit to the commit that ended it (by time
    and LSN; NULL in the current one). One MERGE ends the current versions of the keys that changed and adds
    the new ones; a first run creates the table at once. -#}
{% materialization history, default %}
    {% set relation = this.incorporate(type='table') %}
    {% set existing = load_cached_relation(this) %}
    {% set consumer = dbt_cdc._materialized_consumer() %}

    {{ run_hooks(pre_hooks) }}

    {% do dbt_cdc._write_consumer(
        relation, consumer, dbt_cdc._as_written(compiled_code),
        ['__$start_lsn', '__$seqval', '__$operation', '__$command_id', '__$commit_time'], [
            {'name': 'valid_from', 'type': 'timestamp'}, {'name': 'valid_to', 'type': 'timestamp'},
            {'name': 'valid_from_lsn', 'type': 'string'}, {'name': 'valid_to_lsn', 'type': 'string'},
        ]) %}

    {% do return(dbt_cdc._end_of_model(
        relation, 'nothing new', existing=existing, is_made=consumer.makes_table)) %}
{% endmaterialization %}
