{#- Whether a consumer's table still has what its bookmarks tell. -#}

{#- A RESTORE or CLONE may have taken back what the bookmarks tell of, or a model of dbt's own materializations that had
    the table's name meanwhile. `commits`: the table's history, the newest first; without, it is asked where others than
    the consumer have committed since. -#}
{% macro _check_not_taken_back(consumer, commits=none) %}
    {% set marks = consumer.bookmarks.values() | selectattr('last_lsn')
        | rejectattr('target_version', 'none') | list %}
    {% if commits is none %}
        {% set last = dbt_cdc._last_commit(consumer) %}
        {% set since = marks | map(attribute='target_version') | min if marks else last.version %}
        {% set commits = [last] if last.version <= since + 1 and dbt_cdc._restored_version(last) is none
            else dbt_cdc._last_commits(this.quote(identifier=true), [last.version - since, 1] | max) %}
    {% endif %}
    {% set marks = marks if (dbt_cdc._is_building() or flags.EMPTY) and not consumer.starts_over else [] %}
    {% set all_written = [] %}
    {% for bookmark in marks %}
        {% do all_written.append(dbt_cdc._written_version(consumer, bookmark, commits)) %}
    {% endfor %}
    {% for bookmark, written in zip(marks, all_written) %}
        {% for commit in dbt_cdc._commits_in_effect(commits) %}
            {% do dbt_cdc._raise_bookmark_taken_back(consumer, bookmark, commit) if bookmark.open_lsn is none
                and commit.version > bookmark.target_version
                and (dbt_cdc._merged_up_to(bookmark, commit) or '') > bookmark.last_lsn
                and dbt_cdc._still_says(consumer, bookmark) %}
            {% set is_foreign = bookmark.open_lsn is none and commit.version > all_written | max
                and commit.operation.removesuffix(' AS SELECT') ~ ' AS SELECT' in dbt_cdc._makes_of_a_table() %}
            {% set restored = -1 if is_foreign else dbt_cdc._restored_version(commit) %}
            {% do dbt_cdc._raise_taken_back(consumer, bookmark, written, commit, restored, commits[0].version)
                if restored is not none and restored < written < commit.version %}
        {% endfor %}
    {% endfor %}
{% endmacro %}


{#- Whether the state has a closed bookmark as this run has read it: another run opens it before it writes. -#}
{% macro _still_says(consumer, bookmark) %}
    {% do return(dbt_cdc._fetch(
        'select 1 from ' ~ dbt_cdc._state_relation('consumer_bookmarks') ~ ' where '
        ~ dbt_cdc._is_bookmark(consumer, [bookmark.capture_instance]) ~ ' and open_lsn is null and last_lsn = '
        ~ dbt_cdc._literal(bookmark.last_lsn)) | length > 0) %}
{% endmacro %}


{#- The version that has what the bookmark's last_lsn tells: the consumer's first write behind target_version; that
    itself where the last window left no write, or is open. -#}
{% macro _written_version(consumer, bookmark, commits) %}
    {% for commit in commits | reverse if bookmark.open_lsn is none and commit.version > bookmark.target_version
        and dbt_cdc._is_write_of(consumer, bookmark, commit)
        and (commit.operation not in dbt_cdc._makes_of_a_table() or bookmark.target_version < 0
            or dbt_cdc._kind_of_make(commit) == consumer.kind) %}
        {% do return(commit.version) %}
    {% endfor %}
    {% do return(bookmark.target_version) %}
{% endmacro %}


{% macro _raise_taken_back(consumer, bookmark, written, commit, restored, version) %}
    {% set set_version, of_bookmark = dbt_cdc._statement_of_bookmark(consumer, bookmark, version) %}
    {% do dbt_cdc.raise_cdc_error(
        2714, commit.operation ~ ' made version ' ~ commit.version ~ ' of ' ~ this ~ ', and what ' ~ consumer.name
        ~ ' had consumed of ' ~ bookmark.capture_instance ~ ' up to ' ~ bookmark.last_lsn ~ ' by version ' ~ written
        ~ (' may not be' if restored < 0 else ' is not') ~ ' in it any more',
        dbt_cdc._rebuild_command(consumer.name) ~ ' builds it anew; restore table ' ~ this ~ ' to version as of '
        ~ written ~ ' brings it back; where the rows are as they should be, ' ~ set_version ~ of_bookmark
        ~ ', with last_lsn = the LSN that they reach where later changes are to come again'
    ) %}
{% endmacro %}


{#- The beginning and the end of a statement that puts a bookmark right. -#}
{% macro _statement_of_bookmark(consumer, bookmark, version) %}
    {% do return((
        'update ' ~ dbt_cdc._state_relation('consumer_bookmarks') ~ ' set target_version = ' ~ version,
        ' where consumer = ' ~ dbt_cdc._literal(consumer.name) ~ ' and capture_instance = '
        ~ dbt_cdc._literal(bookmark.capture_instance)
    )) %}
{% endmacro %}


{#- A MERGE of a replica or history says up to where it goes; what it has brought would be taken for new. -#}
{% macro _raise_bookmark_taken_back(consumer, bookmark, commit) %}
    {% set lsn = dbt_cdc._merged_up_to(bookmark, commit) %}
    {% set set_version, of_bookmark = dbt_cdc._statement_of_bookmark(consumer, bookmark, commit.version) %}
    {% do dbt_cdc.raise_cdc_error(
        2714, 'version ' ~ commit.version ~ ' of ' ~ this ~ ' has what ' ~ consumer.name ~ ' had consumed of '
        ~ bookmark.capture_instance ~ ' up to ' ~ lsn ~ ', and its bookmark says ' ~ bookmark.last_lsn
        ~ ', as where consumer_bookmarks was taken back alone',
        set_version ~ ", last_lsn = '" ~ lsn ~ "'" ~ of_bookmark ~ ' puts it right; or '
        ~ dbt_cdc._rebuild_command(consumer.name) ~ ' builds the table anew'
    ) %}
{% endmacro %}


{% macro _is_bookmark(consumer, names) -%}
    consumer = {{ dbt_cdc._literal(consumer.name) }}
    and lower(capture_instance) in ({{ dbt_cdc._literals(names | map('lower')) }})
{%- endmacro %}
