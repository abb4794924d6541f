{#- What consumers have not read yet holds the cleanup job's mark back, for the commit time of var
    cdc_consumer_hold_minutes (7 days) at most: each instance's own mark in `new_low_end`. -#}
{% macro _hold_for_consumers(instances, is_job) %}
    {% set waiting = dbt_cdc._waiting_consumers(instances) %}
    {% set job = dbt_cdc._find_job('cleanup', dbt_cdc._jobs()) if waiting and is_job %}
    {% set first_lsn = dbt_cdc._first_lsn_to_hold(job) if job else '0xG' %}
    {% set ends = dbt_cdc._ends_of_holds(waiting, first_lsn, job) %}
    {% for consumer in waiting %}
        {% set instance = consumer.instance %}
        {% set needs = consumer.name ~ ' has consumed ' ~ consumer.consumed ~ ' up to '
            ~ consumer.last_lsn ~ ' only and needs ' ~ consumer.needed_lsn
            ~ (' of ' ~ instance.capture_instance if consumer.consumed != instance.capture_instance) %}
        {% set held_lsn = [consumer.needed_lsn, first_lsn] | max %}
        {% do instance.update(
            new_low_end=[instance.low_end, [instance.new_low_end, held_lsn] | min] | max) %}
        {% if consumer.needed_lsn >= first_lsn %}
            {% do dbt_cdc._log_line(
                'cleanup: the low end of ' ~ instance.capture_instance ~ ' stays at or below '
                ~ consumer.needed_lsn ~ ': ' ~ needs ~ ', until there is a commit after '
                ~ ends.get(consumer.needed_lsn)) %}
        {% else %}
            {% do consumer.update(loss=dbt_cdc._error_text(
                313, 'cleanup removes changes that a consumer has not read: ' ~ needs
                ~ (', which is held no longer' if is_job),
                ('let it read ' ~ instance.capture_instance ~ ', and '
                    if consumer.consumed != instance.capture_instance)
                ~ 'start it over with ' ~ dbt_cdc._reset_command(
                    consumer.name, consumer.consumed if consumer.is_of_several) ~ ', or '
                ~ ('raise vars: {cdc_consumer_hold_minutes}' if is_job
                    else 'give a low_water_mark up to ' ~ consumer.needed_lsn ~ ', as this cleanup waits for nobody')
            )) %}
        {% endif %}
    {% endfor %}
    {% do return(waiting | selectattr('loss') | map(attribute='loss') | list) %}
{% endmacro %}


{#- Consumers that have not read rows of an instance below its new low end: [{name, consumed, last_lsn, needed_lsn,
    instance}]; also those that stand at the end of another one of its table, and are to go on with it: until the first
    of these rows are gone. -#}
{% macro _waiting_consumers(instances) %}
    {% set state, questions, asked = {}, [], [] %}
    {% for instance in instances if instance.low_end < instance.new_low_end %}
        {% do state.update(dbt_cdc._consumed_so_far()) if not state %}
        {% for name, bookmarks in state.bookmarks.items() %}
            {% for bookmark in dbt_cdc._bookmarks_before(
                instance.capture_instance | lower, bookmarks, state.instances
            ) if bookmark.last_lsn and bookmark.last_lsn < instance.new_low_end
                and (bookmark.capture_instance | lower == instance.capture_instance | lower
                    or (instance.lost_lsn or '') <= bookmark.last_lsn) %}
                {% do asked.append({
                    'name': name, 'last_lsn': bookmark.last_lsn, 'loss': none, 'instance': instance,
                    'consumed': bookmark.capture_instance, 'is_of_several':
                        bookmarks.values() | selectattr('mode') | selectattr('last_lsn') | list | length > 1,
                }) %}
                {% do questions.append(
                    '(select ' ~ questions | length ~ ' as question, min(`__$start_lsn`) as lsn from '
                    ~ instance.relation ~ " where `__$start_lsn` > '" ~ bookmark.last_lsn
                    ~ "' and `__$start_lsn` < '" ~ instance.new_low_end ~ "')"
                ) %}
            {% endfor %}
        {% endfor %}
    {% endfor %}
    {% set waiting = [] %}
    {% for row in (dbt_cdc._fetch(questions | join(' union all ')) if questions else []) if row.lsn %}
        {% do waiting.append(dict(asked[row.question], needed_lsn=row.lsn)) %}
    {% endfor %}
    {% do return(waiting) %}
{% endmacro %}


{#- Older changes are held for nobody. -#}
{% macro _first_lsn_to_hold(job, grace_minutes=0) %}
    {% set minutes = dbt_cdc._minutes_to_hold(job) + grace_minutes | int %}
    {% do return(
        dbt_cdc._fetch(dbt_cdc._retention_mark_sql(dbt_cdc._published_state(), minutes))[0].lsn
    ) %}
{% endmacro %}


{#- Never fewer than the cleanup job's retention keeps. -#}
{% macro _minutes_to_hold(job) %}
    {% do return([
        dbt_cdc._number_of_var('cdc_consumer_hold_minutes', 10080, most=dbt_cdc._most_minutes()), job.retention
    ] | max) %}
{% endmacro %}


{#- The commit time up to which the changes from an LSN on are held: {needed_lsn: time}. -#}
{% macro _ends_of_holds(waiting, first_lsn, job) %}
    {% set lsns = waiting | map(attribute='needed_lsn') | select('ge', first_lsn) | unique | list %}
    {% set rows = dbt_cdc._fetch(
        "select start_lsn, date_format(tran_end_time + interval '" ~ dbt_cdc._minutes_to_hold(job)
        ~ "' minute, 'yyyy-MM-dd HH:mm:ss') as until from " ~ dbt_cdc._state_relation('lsn_time_mapping')
        ~ ' where start_lsn in (' ~ dbt_cdc._literals(lsns) ~ ')'
    ) if lsns else [] %}
    {% do return(dict(zip(rows | map(attribute='start_lsn'), rows | map(attribute='until')))) %}
{% endmacro %}


{#- A row in dm_cdc_errors for each consumer that loses changes. -#}
{% macro _record_losses(losses) %}
    {% set errors = [] %}
    {% for text in losses %}
        {% do errors.append({'error_number': 313, 'error_message': text}) %}
    {% endfor %}
    {% do dbt_cdc._record_errors(errors) %}
{% endmacro %}
