{#- Run-operation: the consumer starts over with its next run: from the low ends on, or from `initial`
    where its model gives that. A replica or history is then made anew; of an incremental model the rows
    stay, and it starts over with one instance or with those of which it lacks changes, if there are any. Of a model
    that is gone the bookmark goes. A replica or history that could not begin gets one. -#}
{% macro reset_consumer(consumer, dry_run=true, capture_instance=none) %}
    {% if execute %}
        {% set dry_run = dbt_cdc._as_boolean('dry_run', dry_run) %}
        {% do dbt_cdc._check_enabled() %}
        {% set known = dbt_cdc._checked_bookmarks(consumer) %}
        {% set node = dbt_cdc._consumer_node(known[0].consumer) %}
        {% set bookmarks = dbt_cdc._bookmarks_to_reset(known, capture_instance)
            if node and node.config.materialized == 'incremental' else known %}
        {% do dbt_cdc._report_reset(bookmarks, node, dry_run, known | reject('in', bookmarks) | list) %}
        {% if not dry_run %}
            {% do dbt_cdc._ensure_state_tables('consumers') %}
            {% set is_it = 'consumer = ' ~ dbt_cdc._literal(bookmarks[0].consumer) %}
            {% if node %}
                {% do dbt_cdc._update_state('consumer_bookmarks', {
                    'last_lsn': 'null', 'last_time': 'null', 'open_lsn': 'null', 'accepts_loss': 'true',
                }, is_it ~ ' and capture_instance in ('
                    ~ dbt_cdc._literals(bookmarks | map(attribute='capture_instance')) ~ ')') %}
                {% for new in bookmarks if new.accepts_loss %}
                    {% do dbt_cdc._insert_state('consumer_bookmarks', [new], is_it
                        ~ ' and capture_instance = ' ~ dbt_cdc._literal(new.capture_instance)) %}
                {% endfor %}
            {% else %}
                {% do dbt_cdc._delete_state('consumer_bookmarks', is_it) %}
            {% endif %}
        {% endif %}
    {% endif %}
{% endmacro %}


{% macro _checked_bookmarks(consumer) %}
    {% set rows = dbt_cdc._fetch(
        'select consumer, capture_instance, last_lsn, mode from '
        ~ dbt_cdc._state_relation('consumer_bookmarks') ~ ' order by consumer, capture_instance'
    ) if dbt_cdc._has_state('consumer_bookmarks') else [] %}
    {% set found = [] %}
    {% for row in rows if row.consumer | lower == (consumer or '') | string | lower %}
        {% do found.append(row) %}
    {% endfor %}
    {% do found.extend(dbt_cdc._first_bookmarks(
        found[0].consumer if found else (consumer or '') | string, found | map(attribute='capture_instance') | list)) %}
    {% do dbt_cdc.raise_cdc_error(
        313, "consumer '" ~ (consumer or 'NULL') ~ "' does not exist",
        'there are ' ~ (rows | map(attribute='consumer') | unique | join(', ') or 'none')
        ~ '; a model is one from its first run on, a replica or history before it'
    ) if not found %}
    {% do return(found) %}
{% endmacro %}


{#- Of an incremental model: the given instance, else those whose changes are gone, which others would repeat; where
    none is, all. -#}
{% macro _bookmarks_to_reset(bookmarks, capture_instance) %}
    {% set given, instances = (capture_instance or '') | string | lower | trim, dbt_cdc._consumed_so_far().instances %}
    {% set named, lost = [], [] %}
    {% for bookmark in bookmarks %}
        {% set name = bookmark.capture_instance | lower %}
        {% do named.append(bookmark) if name == given %}
        {% do lost.append(bookmark) if bookmark.mode and bookmark.last_lsn
            and (name not in instances or bookmark.last_lsn < (instances[name].lost_lsn or '')) %}
    {% endfor %}
    {% do dbt_cdc.raise_cdc_error(
        313, 'consumer ' ~ bookmarks[0].consumer ~ " has consumed no capture instance '" ~ capture_instance ~ "'",
        'give ' ~ bookmarks | map(attribute='capture_instance') | join(' or ') ~ ', or leave capture_instance out'
    ) if given and not named %}
    {% do return(named or lost or bookmarks) %}
{% endmacro %}


{#- Those that a replica or history lacks, as it never ended a run with the instance: a part of its table is gone. -#}
{% macro _first_bookmarks(name, known) %}
    {% set node, bookmarks = dbt_cdc._consumer_node(name) or {}, [] %}
    {% for instance in dbt_cdc._capture_instances().values()
        if node.get('config', {}).get('materialized') in ['replica', 'history']
        and instance.unique_id in node.depends_on.nodes
        and instance.name | lower not in known | map('lower') | list %}
        {% do bookmarks.append({
            'consumer': name, 'capture_instance': instance.name, 'last_lsn': none, 'accepts_loss': true,
            'create_date': 'now', 'source_table': instance.table,
        }) %}
    {% endfor %}
    {% do return(bookmarks) %}
{% endmacro %}


{% macro _report_reset(bookmarks, node, dry_run, others) %}
    {% set instances = dbt_cdc._consumed_so_far().instances %}
    {% set lines = [] %}
    {% for bookmark in bookmarks %}
        {% set instance = instances.get(bookmark.capture_instance | lower) or {} %}
        {% do lines.append({
            'consumer': bookmark.consumer, 'capture_instance': bookmark.capture_instance,
            'consumed_up_to': bookmark.last_lsn, 'low_end': instance.get('start_lsn'),
            'missing_up_to': instance.get('lost_lsn'),
        }) %}
    {% endfor %}
    {% do dbt_cdc._print_rows(lines) %}
    {% set name = bookmarks[0].consumer %}
    {% set what = 'the project has no such model any more: its bookmark '
        ~ ('would go' if dry_run else 'has gone') if not node
        else 'the next run appends from the low end on; its rows stay (with --full-refresh they go first)'
        if node.config.materialized == 'incremental'
        else 'the next run makes ' ~ name ~ ' anew from the low end on; what is missing up to there it '
            ~ 'will lack, unless its new_changes is given initial and initial_lsn'
    %}
    {% do log(
        name ~ ': ' ~ what ~ ('; with ' ~ others | map(attribute='capture_instance') | join(', ')
            ~ ' it goes on' if others) ~ ('. Nothing is changed yet: dry_run: false does it' if dry_run), info=true
    ) %}
{% endmacro %}
