{#- Tells dbt's cache that a relation is there. dbt asks for it in lower case, and takes only what dbt has made for the
    same in another one: without that, a schema called MyTeam is an error. -#}
{% macro _remember(relation) %}
    {% do adapter.cache_added(relation.incorporate(dbt_created=true)) %}
{% endmacro %}
