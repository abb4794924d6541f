{#- What a table's history tells of the bookmarks that stand open (docs/decisions/0009). -#}

{#- What an earlier run has opened was consumed if its table has got rows since: up to where the MERGE says, which may
    be that of a run whose bookmark another one has opened further. The table is quoted, since it may be called
    history. -#}
{% macro _settle_open_bookmarks(consumer) %}
    {% set open = consumer.bookmarks.values() | rejectattr('open_lsn', 'none') | list %}
    {% set commits = dbt_cdc._last_commits(this.quote(identifier=true)) if open else [] %}
    {% do dbt_cdc._check_not_taken_back(consumer, commits) if open %}
    {% set commits = dbt_cdc._commits_in_effect(commits) %}
    {% for bookmark in open %}
        {% set commit = dbt_cdc._last_write(consumer, bookmark, commits) %}
        {% if commit and commit.version > bookmark.target_version %}
            {% do bookmark.update(last_lsn=dbt_cdc._merged_up_to(bookmark, commit) or bookmark.open_lsn or none,
                kind=dbt_cdc._kind_of_make(commit) if bookmark.get('kind')
                and commit.operation in dbt_cdc._makes_of_a_table() else bookmark.get('kind')) %}
            {% do dbt_cdc._log_line(
                consumer.name ~ ': a run that did not end has written the changes of ' ~ bookmark.capture_instance
                ~ ' up to ' ~ bookmark.last_lsn ~ ', as version ' ~ commit.version ~ ' of ' ~ this ~ ' tells ('
                ~ commit.operation ~ ')'
            ) if consumer.kind == 'incremental' and bookmark.last_lsn and dbt_cdc._is_building() %}
        {% elif bookmark.last_lsn and not consumer.starts_over and dbt_cdc._was_emptied(bookmark, commits)
            and dbt_cdc._is_building() %}
            {% do dbt_cdc.raise_cdc_error(
                2714, 'a run of ' ~ consumer.name ~ ' that did not end has made ' ~ this ~ ' anew, empty: what it had '
                ~ 'up to ' ~ bookmark.last_lsn ~ ' of ' ~ bookmark.capture_instance ~ ' is gone',
                dbt_cdc._rebuild_command(consumer.name) ~ ' builds it from the beginning, or restore table '
                ~ this ~ ' to version as of ' ~ bookmark.target_version
            ) %}
        {% elif consumer.kind == 'incremental' and not consumer.starts_over and not commit
            and bookmark.target_version >= 0 and commits and commits[-1].version > bookmark.target_version + 1
            and dbt_cdc._is_building() %}
            {% do dbt_cdc.raise_cdc_error(
                2714, consumer.name ~ ' did not end a run on version ' ~ bookmark.target_version ~ ' of ' ~ this
                ~ ', whose history begins with ' ~ commits[-1].version ~ ' by now: whether the changes of '
                ~ bookmark.capture_instance ~ ' up to ' ~ bookmark.open_lsn ~ ' are there nothing tells',
                dbt_cdc._rebuild_command(consumer.name) ~ ' builds it anew; keep '
                ~ 'delta.logRetentionDuration longer than a consumer stands still'
            ) %}
        {% endif %}
    {% endfor %}
{% endmacro %}


{#- Whether the table was made anew without rows after the bookmark was opened, as adapters do that create a table in
    one statement and fill it in another. -#}
{% macro _was_emptied(bookmark, commits) %}
    {% for commit in commits if commit.version > bookmark.target_version
        and commit.operation in ['CREATE TABLE', 'CREATE OR REPLACE TABLE', 'REPLACE TABLE'] %}
        {% do return(true) %}
    {% endfor %}
    {% do return(false) %}
{% endmacro %}
