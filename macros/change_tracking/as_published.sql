{#- A tracked table as a query reads it: where `ref` finds its side table, in the versions that are published beside
    that. One that nothing is published of is an error where the query would run; --empty does without. -#}
{% macro _as_published(tracked) %}
    {% set relation = ref(tracked.model) %}
    {% set is_own = relation | string == tracked.relation | string %}
    {% set mapping = none if is_own else dbt_cdc._mapping_beside(relation) %}
    {% do dbt_cdc._check_tracked_as_entered(tracked) if is_own and dbt_cdc._is_asked() %}
    {% do exceptions.raise_compiler_error(dbt_cdc._untracked_text(tracked))
        if dbt_cdc._is_asked() and tracked.key not in dbt_cdc._tracking_state(mapping).min_valid_versions %}
    {% do return(dict(
        tracked, relation=relation, mapping=mapping,
        is_unpublished=flags.EMPTY and load_cached_relation(dbt_cdc._tracking_versions(mapping)) is none
    )) %}
{% endmacro %}
