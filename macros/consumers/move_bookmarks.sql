{#- Part of the on-run-end hook: the bookmarks of all consumers that this command has brought further move at
    once. Those of instances that were handed over go, which a run that died has left, too. -#}
{% macro _move_bookmarks(results) %}
    {% set consumers = dbt_cdc._invocation_cache().get('consumers', {}).values() | selectattr('windows')
        | selectattr('unique_id', 'in', dbt_cdc._succeeded(results)) | list %}
    {% set times, open, ended, kinds = {}, [], [], {} %}
    {#- a bookmark that a later run has opened again meanwhile is that run's to move, with all of its consumer -#}
    {% for consumer in consumers
        if not (dbt_cdc._open_marks(consumer) | length > 1 and dbt_cdc._is_overtaken(consumer)) %}
        {% for window in consumer.windows.values() if consumer.is_open and window.bookmark_lsn %}
            {% do times.update({window.bookmark_lsn: dbt_cdc._time_literal(window.bookmark_time)}) %}
        {% endfor %}
        {% do open.extend(dbt_cdc._open_marks(consumer) if consumer.is_open else []) %}
        {% do kinds.update({consumer.name: dbt_cdc._literal(consumer.kind)}) %}
        {% do ended.append(consumer) %}
    {% endfor %}
    {% do dbt_cdc._update_state('consumer_bookmarks', {
        'last_lsn': "nullif(open_lsn, '')", 'last_time': dbt_cdc._case_of('open_lsn', times) if times else 'null',
        'open_lsn': 'null', 'accepts_loss': 'false', 'consumed_at': 'current_timestamp()',
        'kind': dbt_cdc._case_of('consumer', kinds),
    }, '(consumer, lower(capture_instance), open_lsn) in (' ~ open | join(', ') ~ ')') if open %}
    {% for consumer in ended %}
        {% do dbt_cdc._drop_other_bookmarks(consumer) %}
    {% endfor %}
{% endmacro %}
