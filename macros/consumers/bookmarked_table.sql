{#- Whether a model's table is the one that its bookmark tells of. -#}

{#- A table by name, whatever quotes and catalogs the adapter writes it with. -#}
{% macro _told_name(relation) %}
    {% do return((relation.schema ~ '.' ~ relation.identifier) | lower) %}
{% endmacro %}


{#- A bookmark tells of one table: an edited alias or schema takes another one, and one that was dropped and made anew
    by hand has a younger history. -#}
{% macro _check_is_same_table(consumer, version) %}
    {% for bookmark in consumer.bookmarks.values() if consumer.is_there and bookmark.last_lsn %}
        {% set other = bookmark.get('relation') %}
        {% set is_other = other and other != dbt_cdc._told_name(this) %}
        {% if is_other or bookmark.target_version > version %}
            {% do dbt_cdc.raise_cdc_error(
                2714, 'table ' ~ this ~ ' is not the one that the bookmark of ' ~ consumer.name ~ ' tells of, ' ~ (
                    'which is ' ~ other if is_other else 'which had ' ~ bookmark.target_version ~ ' commits and this '
                    ~ version),
                'dbt run --full-refresh --select ' ~ consumer.name ~ ' replaces it; or take the edit of its name '
                ~ 'back; if it is the same table by another name, update '
                ~ dbt_cdc._state_relation('consumer_bookmarks') ~ " set relation = '" ~ dbt_cdc._told_name(this)
                ~ "', target_version = " ~ version ~ " where consumer = '" ~ consumer.name ~ "'"
            ) %}
        {% endif %}
    {% endfor %}
{% endmacro %}
