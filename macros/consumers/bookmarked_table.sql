{#- Whether a model's table is the one that its bookmark tells of. -#}

{#- A table by name, whatever quotes and catalogs the adapter writes it with. -#}
{% macro _told_name(relation) %}
    {% do return((relation.schema ~ '.' ~ relation.identifier) | lower) %}
{% endmacro %}


{#- A bookmark tells of one table: an edited alias or schema takes another one, and one that was dropped and made anew
    by hand has a younger history: `version` is its last, where that is asked. -#}
{% macro _check_is_same_table(consumer, version=none) %}
    {% for bookmark in consumer.bookmarks.values() if consumer.is_there and bookmark.last_lsn %}
        {% set other = bookmark.get('relation') %}
        {% set is_other = other and other != dbt_cdc._told_name(this) %}
        {% if is_other or version is not none and bookmark.target_version > version %}
            {% set version = version if version is not none else [dbt_cdc._last_commit(consumer).version, 0] | max %}
            {% do dbt_cdc.raise_cdc_error(
                2714, 'table ' ~ this ~ ' is not the one that the bookmark of ' ~ consumer.name ~ ' tells of, ' ~ (
                    'which is ' ~ other if is_other else 'which had ' ~ bookmark.target_version ~ ' commits and this '
                    ~ version),
                dbt_cdc._rebuild_command(consumer.name) ~ ' replaces it; or take the edit of its name '
                ~ 'back; if it is the same table by another name, update '
                ~ dbt_cdc._state_relation('consumer_bookmarks') ~ " set relation = '" ~ dbt_cdc._told_name(this)
                ~ "', target_version = least(target_version, " ~ version ~ ") where consumer = '" ~ consumer.name ~ "'"
            ) %}
        {% endif %}
    {% endfor %}
{% endmacro %}


{#- The last commit of the model's table before it writes, asked once. A view or another format has none. -#}
{% macro _last_commit(consumer) %}
    {% do consumer.update(last_commit=dbt_cdc._last_commits(this.quote(identifier=true), 1)[0]
        if dbt_cdc._has_history(load_cached_relation(this)) else {'version': -1})
        if 'last_commit' not in consumer %}
    {% do return(consumer.last_commit) %}
{% endmacro %}


{#- Whether a model's table is one of Delta; other adapters than dbt-spark do not always know the format. -#}
{% macro _has_history(relation) %}
    {% do return(not relation.is_view and (relation.is_delta or target.type != 'spark')) %}
{% endmacro %}
