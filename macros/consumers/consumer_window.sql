{#- What a model consumes of one capture instance in this run: {instance, kind, option, skips_unchanged,
    from_lsn, to_lsn, lost_lsn, has_news, is_first, initial, initial_lsn, initial_time}. -#}
{% macro _consumer_window(capture_instance, mode, initial, initial_lsn) %}
    {% set consumer = dbt_cdc._consumer() %}
    {% set instance = dbt_cdc._find_instance(capture_instance) %}
    {% do dbt_cdc._check_captured_here(consumer, instance) %}
    {% set interval = consumer.intervals.get(instance.name | lower, {}) %}
    {% do dbt_cdc._check_unedited(instance, consumer.instances[instance.name | lower])
        if dbt_cdc._is_building() and interval.get('high_end') and instance.name | lower in consumer.instances %}
    {% set bookmark = consumer.bookmarks.get(instance.name | lower)
        or dbt_cdc._bookmark_of_other_instance(instance, consumer) %}
    {% do dbt_cdc._check_is_of_same_source(consumer, instance, bookmark) %}
    {% set window = dbt_cdc._consumed_as(instance, consumer, mode) %}
    {% set window = dict(
        window, instance=dict(instance, relation=dbt_cdc._change_table_to_read(instance)), initial=none,
        lost_lsn=(consumer.instances.get(instance.name | lower) or {}).get('lost_lsn') or '',
        consumed_lsn=none if consumer.starts_over else bookmark.get('last_lsn'),
        to_lsn=interval.get('high_end') or dbt_cdc._zero_lsn()
    ) %}
    {% do window.update(is_first=not window.consumed_lsn) %}
    {% do window.update(dbt_cdc._initial_content(consumer, window, initial, initial_lsn, interval))
        if window.is_first and initial is not none %}
    {#- what a first window leaves as it was, the model does not have yet. Rows within the window may have been read
        already: by another run, whose bookmark is open, or was until `--empty` put it back; by a dump that is newer
        than its LSN; by a consumer that the model reads and that is further than it. In a model that merges, rows stay
        behind a reset. A model that appends would count what goes without having come -#}
    {% set is_open = bookmark.get('open_lsn') not in [none, ''] %}
    {% set is_merged = consumer.kind == 'incremental' and dbt_cdc._incremental_strategy() != 'append' %}
    {% set keeps_rows = window.is_first and (bookmark.get('accepts_loss') or bookmark.get('was_reset'))
        and consumer.is_there and not consumer.starts_over %}
    {% set keeps_gone = consumer.kind == 'replica' and is_open or is_merged and keeps_rows
        or (consumer.kind == 'replica' or is_merged) and (window.initial or dbt_cdc._reads_consumers(model)) %}
    {% do window.update(
        keeps_gone=keeps_gone, skips_unchanged=window.skips_unchanged and not window.is_first and not keeps_gone) %}
    {% do dbt_cdc._check_nothing_is_lost(consumer, window, bookmark, interval) %}
    {% do dbt_cdc._check_initial_columns(consumer, window.instance, initial)
        if window.initial and dbt_cdc._is_building() %}
    {#- up to lost_lsn there is nothing left to take, also where that lies behind the high end -#}
    {% set after = window.consumed_lsn or window.initial_lsn %}
    {% set high_end, waits_for = interval.get('high_end') or '', consumer.waits_for or {} %}
    {% set end = [high_end, waits_for.get('last_lsn', high_end)] | min %}
    {% do dbt_cdc._check_begins_before_its_end(consumer, window, interval, waits_for) if not after and end < high_end %}
    {% do window.update(
        to_lsn=end or dbt_cdc._zero_lsn(),
        from_lsn=[
            dbt_cdc.increment_lsn(after or dbt_cdc._zero_lsn()), interval.get('low_end') or ''
        ] | max,
        bookmark_lsn=[after or '', end, window.lost_lsn if interval.get('high_end') else ''] | max or none
    ) %}
    {#- a later one of equal LSNs counts -#}
    {% do window.update(bookmark_time={
        bookmark.get('last_lsn'): bookmark.get('last_time'), waits_for.get('last_lsn'): waits_for.get('last_time'),
        interval.get('high_end'): interval.get('high_time'),
    }.get(window.bookmark_lsn, interval.get('high_time'))) %}
    {% do window.update(has_news=window.from_lsn <= window.to_lsn and not flags.EMPTY) %}
    {% do consumer.windows.update({instance.name | lower: window}) %}
    {% do dbt_cdc._log_line(
        consumer.name ~ ' stands still: capture instance ' ~ instance.name ~ ' ended at ' ~ window.to_lsn
        ~ '; hand it over to another instance of ' ~ instance.table
    ) if (consumer.instances.get(instance.name | lower) or {}).get('end_lsn') and not window.has_news
        and end == high_end and dbt_cdc._is_building() %}
    {% do return(window) %}
{% endmacro %}


{#- What is behind a TRUNCATE in its transaction has the LSN up to which changes are gone. Who waits for another
    consumer before that LSN can neither read it nor set it down as consumed. -#}
{% macro _check_begins_before_its_end(consumer, window, interval, waits_for) %}
    {% do dbt_cdc.raise_cdc_error(
        313, consumer.name ~ ' cannot begin yet: what is left of capture instance ' ~ window.instance.name
        ~ ' begins at ' ~ interval.low_end ~ ', and it reads ' ~ waits_for.consumer ~ ', which has consumed '
        ~ waits_for.capture_instance ~ ' up to ' ~ waits_for.last_lsn, waits_for.advice
    ) if dbt_cdc._is_building() and waits_for.last_lsn < interval.low_end and interval.low_end <= window.lost_lsn %}
{% endmacro %}


{#- A bookmark tells of the change table and of the consumer of one schema. -#}
{% macro _check_captured_here(consumer, instance) %}
    {% do dbt_cdc.raise_cdc_error(
        22981, 'change table ' ~ instance.relation ~ ', from which ' ~ consumer.name
        ~ ' takes its changes, is not there',
        'what is captured and consumed in another schema is not deferred to: build it here, dbt run '
        ~ '--select +' ~ dbt_cdc._selector_of(consumer.name)
    ) if dbt_cdc._is_building() and load_cached_relation(instance.relation) is none %}
{% endmacro %}


{#- The function and its option that a mode stands for, and whether rows that the window leaves as they were
    are none of its changes. -#}
{% macro _consumed_as(instance, consumer, mode) %}
    {% set mode = (mode or ('net' if consumer.kind == 'replica' else 'all')) | string | lower | trim %}
    {% set modes = {
        'all': 'all', 'all update old': 'all update old',
        'net': 'all with mask' if instance.before_image == 'partial' else 'all',
        'net with mask': 'all with mask', 'net with merge': 'all with merge',
    } %}
    {% do dbt_cdc.raise_cdc_error(
        313, "new_changes: mode '" ~ mode ~ "' is unknown", "give '" ~ modes | join("' or '") ~ "'"
    ) if mode not in modes %}
    {% set kind = mode.split(' ')[0] %}
    {% if consumer.kind == 'replica' and kind != 'net' %}
        {% do dbt_cdc.raise_cdc_error(
            313, 'replica ' ~ consumer.name ~ " takes mode '" ~ mode ~ "'",
            "it needs one change a key; leave the mode out or give 'net', or make the model a history"
        ) %}
    {% elif consumer.kind == 'history' and kind != 'all' %}
        {% do dbt_cdc.raise_cdc_error(
            313, 'history ' ~ consumer.name ~ " takes mode '" ~ mode ~ "'",
            "it would miss the states in between; leave the mode out or give 'all', or make the model "
            ~ 'a replica'
        ) %}
    {% elif mode == 'net with merge' and instance.before_image == 'partial' %}
        {% do dbt_cdc.raise_cdc_error(
            313, consumer.name ~ " takes mode 'net with merge', and before_image of " ~ instance.name
            ~ ' is partial: its rows do not tell a value that an update leaves as it was from NULL',
            "give 'net with mask', whose __$update_mask tells it" ~ (
                ', or leave the mode out' if consumer.kind == 'replica')
        ) %}
    {% elif consumer.kind in ['replica', 'history'] and not instance.index_columns %}
        {% do dbt_cdc.raise_cdc_error(
            22938, consumer.kind ~ ' ' ~ consumer.name ~ " cannot follow capture instance '" ~ instance.name
            ~ "', which has no key",
            'give the instance index_columns when it is made (a second instance can have them), or append '
            ~ "its changes with materialized='incremental'"
        ) %}
    {% endif %}
    {#- a column that the table got later lacks what no change has told it -#}
    {% do return({
        'mode': mode, 'kind': kind, 'option': modes[mode],
        'skips_unchanged': consumer.kind == 'replica' and mode == 'net' and instance.before_image != 'partial'
            and instance.lob_before_image == 'always' and not instance.is_edited
            and not dbt_cdc._told_by_adapters().is_of_sqlserver
            and config.get('on_schema_change') not in ['append_new_columns', 'sync_all_columns'],
    }) %}
{% endmacro %}


{#- The rows of a table as of an LSN. The state of other times would leave deleted rows behind. -#}
{% macro _initial_content(consumer, window, initial, initial_lsn, interval) %}
    {% set lsn = dbt_cdc._normalize_lsn(initial_lsn, 'new_changes: initial_lsn') %}
    {% do dbt_cdc.raise_cdc_error(
        313, 'new_changes: initial_lsn ' ~ lsn ~ ' is above the high end ' ~ window.to_lsn
        ~ ' of capture instance ' ~ window.instance.name,
        'give the last LSN whose changes are in ' ~ initial ~ ', or run dbt until they are published'
    ) if lsn > [window.to_lsn, window.lost_lsn] | max %}
    {% set time = dbt_cdc._fetch(
        'select cast(max_by(tran_end_time, start_lsn) as string) as time from '
        ~ dbt_cdc._state_relation('lsn_time_mapping') ~ " where start_lsn <= '" ~ lsn ~ "'"
    )[0].time %}
    {% do return({'initial': initial, 'initial_lsn': lsn, 'initial_time': time}) %}
{% endmacro %}


{#- The cast to the captured types cuts no value. -#}
{% macro _check_initial_columns(consumer, instance, initial) %}
    {% set found = {} %}
    {% for row in run_query('describe query select * from ' ~ initial).rows %}
        {% do found.update({row[0] | lower: row[1] | lower}) %}
    {% endfor %}
    {% for column in instance.columns %}
        {% set wanted, given = column.data_type | lower | trim, found.get(column.name | lower) %}
        {% do dbt_cdc.raise_cdc_error(
            313, 'new_changes: initial of ' ~ consumer.name ~ (
                ' has ' ~ column.name ~ ' as ' ~ given ~ ', and capture instance ' ~ instance.name ~ ' has it as '
                ~ wanted ~ ': its values would be cut, or be NULL' if given
                else ' lacks column ' ~ column.name ~ ' of capture instance ' ~ instance.name),
            'give a view of ' ~ initial ~ ' that ' ~ ('casts it to ' ~ wanted if given else 'has it too')
        ) if not given or given.partition('<')[0] in ['array', 'map', 'struct'] or given != 'void' and not (
            dbt_cdc._holds_type(wanted, given) if dbt_cdc._type_family(wanted) in ['integer', 'decimal']
            else dbt_cdc._keeps_values(wanted, given)) %}
    {% endfor %}
{% endmacro %}


{#- Whether changes that the model needs were removed or never captured. An incremental model may begin
    with what there is; a replica or history of a part of the table would be wrong. reset_consumer accepts the
    loss for the new beginning alone. -#}
{% macro _check_nothing_is_lost(consumer, window, bookmark, interval) %}
    {% set after = window.consumed_lsn or window.initial_lsn or '' %}
    {% do dbt_cdc.raise_cdc_error(
        313, 'the rows of ' ~ window.instance.table ~ ' up to ' ~ window.lost_lsn
        ~ ' are gone (TRUNCATE), which is not published yet', 'dbt run --select +lsn_time_mapping publishes it'
    ) if interval.get('high_end') and window.lost_lsn > interval.get('scanned_lsn', '0xG') %}
    {% set needs_all = consumer.kind != 'incremental' or bookmark.get('last_lsn') %}
    {% set is_accepted = bookmark.get('accepts_loss') and not bookmark.last_lsn and not window.initial %}
    {% if after < window.lost_lsn
        and (window.consumed_lsn or window.initial or needs_all) and not is_accepted %}
        {% set of_instance = ' of capture instance ' ~ window.instance.name %}
        {% set gone = 'changes' ~ of_instance ~ ' up to ' ~ window.lost_lsn ~ ' were removed or never captured, '
            ~ 'its low end is ' ~ interval.get('low_end') %}
        {% set start_over = dbt_cdc._reset_of(consumer, bookmark)
            ~ ' (it shows what it would do; dry_run: false does it)' %}
        {% if window.initial %}
            {% do dbt_cdc.raise_cdc_error(
                313, 'initial_lsn ' ~ after ~ ' is too old for ' ~ consumer.name ~ ': ' ~ gone,
                'give newer content, as of that LSN or later'
            ) %}
        {% elif window.consumed_lsn %}
            {% do dbt_cdc.raise_cdc_error(
                313, consumer.name ~ ' has consumed up to ' ~ after ~ of_instance ~ '; ' ~ gone,
                'start over with ' ~ start_over
            ) %}
        {% endif %}
        {% do dbt_cdc.raise_cdc_error(
            313, consumer.name ~ ' would start without a part of the table: ' ~ gone,
            'give its content as of a later LSN (new_changes: initial, initial_lsn), or take what is left '
            ~ 'with ' ~ start_over
        ) %}
    {% endif %}
{% endmacro %}
