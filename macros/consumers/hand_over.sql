{#- A model that is moved to another instance of its table goes on from where it was: after the old
    instance's last change that it has consumed, where the new one has all later ones. What the new one lacks the old
    one has to tell: it is published up to there, has lost nothing of it, and did not end before. One that was disabled
    tells nothing. -#}
{% macro _bookmark_of_other_instance(instance, consumer) %}
    {% for name, bookmark in consumer.bookmarks.items()
        if dbt_cdc._source_of(consumer.instances.get(name) or {}) == dbt_cdc._source_of(instance)
        and bookmark.get('source_table') in [none, instance.table] %}
        {% set lost_lsn = (consumer.instances.get(instance.name | lower) or {}).lost_lsn %}
        {% set old = consumer.instances[name] %}
        {% set goes_on = bookmark.last_lsn and not consumer.starts_over and dbt_cdc._is_building() %}
        {% do dbt_cdc.raise_cdc_error(
            313, consumer.name ~ ' cannot be handed over to ' ~ instance.name ~ ' yet: nothing of that is '
            ~ 'published, and nothing tells what it will lack',
            'let it read ' ~ name ~ ' as before, and hand it over when a run has published ' ~ instance.name
            ~ ', which the next commit enables'
        ) if goes_on and not consumer.intervals.get(instance.name | lower, {}).get('high_end') %}
        {#- what this command has published itself has no scanned_lsn -#}
        {% set scanned_lsn = consumer.intervals.get(name, {}).get('scanned_lsn', '0xG') %}
        {% if dbt_cdc._is_building() and bookmark.last_lsn and [bookmark.last_lsn, scanned_lsn] | max < (lost_lsn or '')
            %}
            {% do dbt_cdc.raise_cdc_error(
                313, consumer.name ~ ' cannot be handed over to ' ~ instance.name ~ ' yet: capture instance ' ~ name
                ~ ' has the changes up to ' ~ lost_lsn ~ ', and is published up to ' ~ scanned_lsn,
                'dbt run --select +lsn_time_mapping publishes it'
            ) %}
        {% endif %}
        {% do dbt_cdc._check_lacks_no_late_commit(consumer, instance, old, bookmark) if goes_on %}
        {% if bookmark.last_lsn and lost_lsn
            and bookmark.last_lsn >= (old.lost_lsn or '') and lost_lsn < (old.end_lsn or '0xG')
            and load_cached_relation(old.relation) is not none %}
            {% do dbt_cdc.raise_cdc_error(
                313, consumer.name ~ ' has consumed ' ~ name ~ ' up to ' ~ bookmark.last_lsn ~ '; ' ~ name
                ~ ' has later changes up to ' ~ lost_lsn ~ ', which ' ~ instance.name ~ ' lacks',
                'let it read ' ~ name ~ ' as before, dbt run --select ' ~ dbt_cdc._selector_of(consumer.name)
                ~ ', then hand it over'
            ) if not consumer.starts_over and dbt_cdc._is_building() and dbt_cdc._fetch(
                'select 1 from ' ~ old.relation ~ " where `__$start_lsn` > '" ~ bookmark.last_lsn
                ~ "' and `__$start_lsn` <= '" ~ lost_lsn ~ "' limit 1") %}
            {% do return(dict(bookmark, last_lsn=[bookmark.last_lsn, lost_lsn] | max)) %}
        {% endif %}
        {#- a loss is accepted of one instance; that the model keeps its rows is true of all -#}
        {% do return(dict(bookmark, accepts_loss=false, was_reset=bookmark.get('accepts_loss'))) %}
    {% endfor %}
    {#- of which table one was that is not entered any more, a bookmark of an older version does not tell -#}
    {% for name, bookmark in consumer.bookmarks.items() if bookmark.get('source_table') == instance.table
        or bookmark.get('source_table') is none and name not in consumer.instances %}
        {% do dbt_cdc.raise_cdc_error(
            313, consumer.name ~ ' has consumed capture instance ' ~ bookmark.capture_instance ~ ' up to '
            ~ bookmark.last_lsn ~ ', which was disabled before ' ~ consumer.name ~ ' had gone on with ' ~ instance.name
            ~ ': which changes of ' ~ instance.name ~ ' it has had cannot be told',
            dbt_cdc._rebuild_command(consumer.name) ~ ' builds it anew; or take all that '
            ~ instance.name ~ ' has with ' ~ dbt_cdc._reset_of(consumer, bookmark, ', dry_run: false')
        ) if bookmark.last_lsn and not consumer.starts_over and dbt_cdc._is_building() %}
        {% do return(bookmark) if not bookmark.last_lsn %}
    {% endfor %}
    {% do return({}) %}
{% endmacro %}


{#- What landed too late for the old instance, the new one may have read in its place: a consumer that went on behind it
    would never have it. A change has rows in both where the old one captures all columns of the new one. Else inserts
    and deletes have, unless a row got another key. Of the commits at its ends an instance may have a part. -#}
{% macro _check_lacks_no_late_commit(consumer, instance, old, bookmark) %}
    {% set new, captured, added = consumer.instances[instance.name | lower], [], [] %}
    {% for column in old.columns %}
        {% do captured.append([column.column_name | lower, column.column_type, column.get('is_computed') or false]) %}
    {% endfor %}
    {% for column in new.columns
        if [column.column_name | lower, column.column_type, column.get('is_computed') or false] not in captured %}
        {% do added.append(column.column_name | lower) %}
    {% endfor %}
    {#- SQL around change_table() may leave rows out -#}
    {% set is_edited = (dbt_cdc._capture_instances().get(old.capture_instance | lower) or {}).get('is_edited') %}
    {% set begin = [old.start_lsn, old.lost_lsn or ''] | max %}
    {% set end = [dbt_cdc.increment_lsn(bookmark.last_lsn), old.end_lsn or '0xG'] | min %}
    {% set late_lsn = dbt_cdc._fetch(
        'select min(`__$start_lsn`) as lsn from ' ~ instance.relation ~ ' left anti join ' ~ old.relation
        ~ ' using (`__$start_lsn`, `__$seqval`) where `__$start_lsn` > ' ~ dbt_cdc._literal(begin)
        ~ ' and `__$start_lsn` < ' ~ dbt_cdc._literal(end) ~ (' and `__$operation` in (1, 2)' if added)
    )[0].lsn if begin < end and not is_edited and not new.index_columns | map('lower') | select('in', added) | list
        and load_cached_relation(old.relation) is not none else none %}
    {% do dbt_cdc.raise_cdc_error(
        313, consumer.name ~ ' has consumed ' ~ old.capture_instance ~ ' up to ' ~ bookmark.last_lsn ~ '; '
        ~ instance.name ~ ' has changes before, of the commit ' ~ late_lsn ~ ', which ' ~ old.capture_instance
        ~ ' lacks, as where it landed too late',
        dbt_cdc._rebuild_command(consumer.name) ~ ' builds it anew; to go on without them, update '
        ~ dbt_cdc._state_relation('consumer_bookmarks') ~ ' set capture_instance = '
        ~ dbt_cdc._literal(instance.name) ~ ' where consumer = ' ~ dbt_cdc._literal(consumer.name)
        ~ ' and capture_instance = ' ~ dbt_cdc._literal(bookmark.capture_instance)
    ) if late_lsn %}
{% endmacro %}


{#- An instance that was disabled, and entered anew by its name for another table. -#}
{% macro _check_is_of_same_source(consumer, instance, bookmark) %}
    {% if bookmark.get('source_table') not in [none, instance.table]
        and bookmark.last_lsn and not consumer.starts_over and dbt_cdc._is_building() %}
        {% do dbt_cdc.raise_cdc_error(
            313, consumer.name ~ ' has consumed capture instance ' ~ instance.name ~ ' of ' ~ bookmark.source_table
            ~ ' up to ' ~ bookmark.last_lsn ~ ', and it is one of ' ~ instance.table ~ ' now',
            dbt_cdc._rebuild_command(consumer.name) ~ ' builds it anew; or take what the instance has '
            ~ '(in an incremental model beside the rows of before) with '
            ~ dbt_cdc._reset_of(consumer, bookmark, ', dry_run: false')
        ) %}
    {% endif %}
{% endmacro %}


{#- The command that starts over with the instance of a bookmark. -#}
{% macro _reset_of(consumer, bookmark, more='') %}
    {% do return(dbt_cdc._reset_command(
        consumer.name, bookmark.get('capture_instance') if consumer.kind == 'incremental'
        and consumer.bookmarks | length > 1, more)) %}
{% endmacro %}


{#- The bookmarks of instances that the model has handed over, or whose rows are gone. -#}
{% macro _drop_other_bookmarks(consumer) %}
    {% set others = [] %}
    {% for name, bookmark in consumer.bookmarks.items()
        if name not in consumer.windows and not dbt_cdc._is_left_out(consumer, name) %}
        {% do others.append(bookmark.capture_instance) %}
    {% endfor %}
    {% do dbt_cdc._delete_state('consumer_bookmarks', dbt_cdc._is_bookmark(consumer, others)) if others %}
{% endmacro %}
