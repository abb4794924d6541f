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
            {% set version = version if version is not none
                else dbt_cdc._last_commit(consumer).version if load_cached_relation(this).is_delta else 0 %}
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


{#- A RESTORE or CLONE may have taken back what the bookmarks tell of. `commits`: the table's history, the newest
    first; without, it is asked where others than the consumer have committed since. -#}
{% macro _check_not_taken_back(consumer, commits=none) %}
    {% set marks = consumer.bookmarks.values() | selectattr('last_lsn')
        | rejectattr('target_version', 'none') | list %}
    {% if commits is none %}
        {% set last, since = dbt_cdc._last_commit(consumer), marks | map(attribute='target_version') | min | default(0) %}
        {% set commits = dbt_cdc._last_commits(this.quote(identifier=true), last.version - since)
            if last.version > since + 1 else [last] %}
    {% endif %}
    {% for bookmark in marks if dbt_cdc._is_building() and not consumer.starts_over %}
        {% set written = dbt_cdc._written_version(consumer, bookmark, commits) %}
        {% for commit in dbt_cdc._commits_in_effect(commits) if commit.operation in ['RESTORE', 'CLONE']
            and dbt_cdc._restored_version(commit) < written < commit.version %}
            {% do dbt_cdc._raise_taken_back(consumer, bookmark, written, commit, commits) %}
        {% endfor %}
    {% endfor %}
{% endmacro %}


{#- The version that has what the bookmark's last_lsn tells: the consumer's first write behind target_version; that
    itself where the last window left no write, or is open. -#}
{% macro _written_version(consumer, bookmark, commits) %}
    {% for commit in commits | reverse if bookmark.open_lsn is none and commit.version > bookmark.target_version
        and dbt_cdc._is_write_of(consumer, bookmark, commit) %}
        {% do return(commit.version) %}
    {% endfor %}
    {% do return(bookmark.target_version) %}
{% endmacro %}


{% macro _raise_taken_back(consumer, bookmark, written, commit, commits) %}
    {% set set_version = 'update ' ~ dbt_cdc._state_relation('consumer_bookmarks') ~ ' set target_version = '
        ~ commits[0].version %}
    {% set of_bookmark = ' where ' ~ dbt_cdc._is_bookmark(consumer, [bookmark.capture_instance]).split() | join(' ') %}
    {% do dbt_cdc.raise_cdc_error(
        2714, commit.operation ~ ' made version ' ~ commit.version ~ ' of ' ~ this ~ ', and what ' ~ consumer.name
        ~ ' had consumed of ' ~ bookmark.capture_instance ~ ' up to ' ~ bookmark.last_lsn ~ ' by version ' ~ written
        ~ ' is not in it any more',
        dbt_cdc._rebuild_command(consumer.name) ~ ' builds it anew; restore table ' ~ this ~ ' to version as of '
        ~ written ~ ' brings it back; where the rows are as they should be, ' ~ set_version ~ of_bookmark
        ~ ', with last_lsn = the LSN that they reach where later changes are to come again'
    ) %}
{% endmacro %}


{#- The last commit of the model's table before it writes, asked once. -#}
{% macro _last_commit(consumer) %}
    {% if 'last_commit' not in consumer %}
        {% do consumer.update(last_commit=dbt_cdc._last_commits(this.quote(identifier=true), 1)[0]) %}
    {% endif %}
    {% do return(consumer.last_commit) %}
{% endmacro %}
