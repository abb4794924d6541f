{#- Consumers that a model reads beside its changes: it goes no further than they have come. -#}

{#- The bookmark that is furthest behind of those that are behind what is published, of the consumers that the model
    reads, also through views and ephemeral models, and that the command does not run; none where none is. Changes that
    were consumed before their rows are there would never be looked at again. -#}
{% macro _bookmark_to_wait_for(state) %}
    {% set behind, seen, followed = [], {}, [] %}
    {% do dbt_cdc._add_bookmarks_behind(model, state, seen, behind)
        if not (model.config.get('meta') or {}).get('may_run_ahead') %}
    {#- what one has of an instance that has ended, another may have from there on -#}
    {% for id in seen if behind %}
        {% for instance, bookmark in state.bookmarks.get(dbt_cdc._consumer_name(graph.nodes[id]), {}).items() %}
            {% do followed.append(instance) if bookmark.mode %}
        {% endfor %}
    {% endfor %}
    {% set behind = behind | rejectattr('goes_on_with', 'in', followed) | list %}
    {% set first = (behind | sort(attribute='last_lsn') + [none])[0] %}
    {% if first and dbt_cdc._is_building() %}
        {% set name = dbt_cdc._consumer_name(model) %}
        {% set advice = ('let ' ~ first.consumer ~ ' read ' ~ state.instances[first.goes_on_with].capture_instance
            ~ ', as ' ~ first.capture_instance ~ ' has ended: ' if first.goes_on_with)
            ~ 'dbt run --select ' ~ dbt_cdc._selector_of(first.consumer) ~ ' '
            ~ dbt_cdc._selector_of(name) ~ ' brings both further; if rows of '
            ~ first.consumer ~ " may be older than the changes, give config(meta={'may_run_ahead': true})" %}
        {% do dbt_cdc.raise_cdc_error(
            313, name ~ ' reads ' ~ first.consumer ~ ', which has consumed nothing of ' ~ first.capture_instance
            ~ ' yet, or was reset', advice
        ) if not first.last_lsn %}
        {% do first.update(advice=advice) %}
        {% do dbt_cdc._log_line(
            name ~ ' waits for ' ~ first.consumer ~ ', which it reads and which has consumed ' ~ first.capture_instance
            ~ ' up to ' ~ first.last_lsn ~ ': ' ~ advice
        ) %}
    {% endif %}
    {% do return(first) %}
{% endmacro %}


{#- Those that the command runs come first, and are as far as those that they read, unless another run writes them. -#}
{% macro _add_bookmarks_behind(node, state, seen, behind) %}
    {% for id in (node.get('depends_on') or {}).get('nodes', []) if id in graph.nodes and id not in seen %}
        {% set parent = graph.nodes[id] %}
        {% set bookmarks = state.bookmarks.get(dbt_cdc._consumer_name(parent), {}) %}
        {% set consumer = dbt_cdc._invocation_cache().get('consumers', {}).get(dbt_cdc._consumer_name(parent)) %}
        {#- where dbt retries it does not say what is selected -#}
        {% set runs_here = id in selected_resources or not selected_resources and dbt_cdc._is_building() %}
        {% do seen.update({id: true}) %}
        {% if consumer and dbt_cdc._is_overtaken(consumer) %}
            {% for name, window in consumer.windows.items() %}
                {% do behind.append({
                    'consumer': consumer.name, 'capture_instance': window.instance.name,
                    'last_lsn': window.consumed_lsn or '', 'last_time': bookmarks.get(name, {}).get('last_time'),
                    'goes_on_with': none,
                }) %}
            {% endfor %}
        {% else %}
            {% set is_as_far = consumer or not bookmarks and parent.config.materialized in ['view', 'ephemeral']
                or runs_here and not (dbt_cdc._is_building() and dbt_cdc._is_consumer(parent)) %}
            {% do dbt_cdc._add_bookmarks_behind(parent, state, seen, behind) if is_as_far %}
            {% set marks = {} if is_as_far else bookmarks %}
            {% for name, window in (consumer or {}).get('windows', {}).items() %}
                {% do marks.update({name: {
                    'consumer': consumer.name, 'capture_instance': window.instance.name, 'mode': window.mode,
                    'last_lsn': window.bookmark_lsn, 'last_time': window.bookmark_time,
                }}) %}
            {% endfor %}
            {% for instance, interval in (state.intervals.items() if marks else []) %}
                {% for bookmark in dbt_cdc._bookmarks_before(instance, marks, state.instances)
                    if (bookmark.last_lsn or '') < (interval.high_end or '') %}
                    {% do behind.append(dict(bookmark, last_lsn=bookmark.last_lsn or '',
                        goes_on_with=none if instance in marks else instance)) %}
                {% endfor %}
            {% endfor %}
        {% endif %}
    {% endfor %}
{% endmacro %}


{#- Whether a model reads consumers, through whatever other models. -#}
{% macro _reads_consumers(node, seen=none) %}
    {% set seen = {} if seen is none else seen %}
    {% for id in (node.get('depends_on') or {}).get('nodes', []) if id in graph.nodes and id not in seen %}
        {% set parent = graph.nodes[id] %}
        {% do seen.update({id: true}) %}
        {% do return(true) if parent.package_name != 'dbt_cdc'
            and (dbt_cdc._is_consumer(parent) or dbt_cdc._reads_consumers(parent, seen)) %}
    {% endfor %}
    {% do return(false) %}
{% endmacro %}
