{#- How far each model has consumed each instance. Before a model writes, its bookmark says up to where it
    will (open_lsn) and which version its table has; at the end of the run the bookmark moves there. A run that
    died in between is settled by Delta's history (docs/decisions/0009). -#}

{#- All bookmarks: {consumer: {instance: row}}; `rows` where they were just read. -#}
{% macro _bookmarks(rows=none) %}
    {% set bookmarks = {} %}
    {% if rows is none and dbt_cdc._has_state('consumer_bookmarks') %}
        {% set rows = dbt_cdc._fetch(dbt_cdc._bookmarks_sql()) %}
    {% endif %}
    {% for row in rows or [] %}
        {% do bookmarks.setdefault(row.consumer, {}).update({row.capture_instance | lower: row}) %}
    {% endfor %}
    {% do return(bookmarks) %}
{% endmacro %}


{#- Of the bookmarks of a consumer, those that tell how far it has the rows of an instance: that of the instance; else,
    where it reads none of the table that goes on, those of ended ones, whose rows go on in this one. -#}
{% macro _bookmarks_before(instance, bookmarks, instances) %}
    {% set own, ended = bookmarks.get(instance), [] %}
    {% do return([own] if own.mode else []) if own %}
    {% for name, bookmark in bookmarks.items() if bookmark.mode and name in instances
        and dbt_cdc._source_of(instances[name]) == dbt_cdc._source_of(instances.get(instance) or {}) %}
        {% do return([]) if not instances[name].end_lsn %}
        {% do ended.append(bookmark) %}
    {% endfor %}
    {% do return(ended) %}
{% endmacro %}


{% macro _bookmarks_sql() -%}
    select
        * except (last_time, consumed_at, create_date),
        {%- for column in ['last_time', 'consumed_at', 'create_date'] %}
        cast({{ column }} as string) as {{ column }}{{ ',' if not loop.last }}
        {%- endfor %}
    from {{ dbt_cdc._state_relation('consumer_bookmarks') }}
{%- endmacro %}


{#- The pre-hook that new_changes gives to its model. It writes where there is something new to say: a
    model without news leaves its bookmarks alone. -#}
{% macro _open_bookmarks() %}
    {% set consumer = dbt_cdc._resolved_consumer() if dbt_cdc._is_building() or flags.EMPTY else {} %}
    {#- a hook of the model's own may have set another zone -#}
    {% do dbt_cdc._check_session_time_zone()
        if consumer and pre_hooks | rejectattr('sql', 'equalto', '{{ dbt_cdc._open_bookmarks() }}') | list %}
    {% do dbt_cdc._check_strategy(consumer) if consumer %}
    {% set known, new = (dbt_cdc._marks_of_empty_run(consumer) if flags.EMPTY else []), [] %}
    {% for name, window in consumer.get('windows', {}).items() if not consumer.is_open and not flags.EMPTY %}
        {% set bookmark = consumer.bookmarks.get(name, {}) %}
        {% if not bookmark %}
            {% do new.append(window) %}
            {% do window.update(is_open=true) %}
        {% elif bookmark.open_lsn is not none or window.is_first or bookmark.last_lsn != window.bookmark_lsn
            or not bookmark.mode %}
            {% do window.update(bookmark_lsn=window.bookmark_lsn or '') if bookmark.last_lsn %}
            {% do known.append(dict(
                bookmark, mode=window.mode, open_lsn=window.bookmark_lsn,
                source_table=window.instance.table)) %}
            {% do window.update(is_open=true) %}
        {% endif %}
    {% endfor %}
    {% do known.extend(dbt_cdc._marks_left_out(consumer)) if consumer and not consumer.is_open and not flags.EMPTY %}
    {% if known or new %}
        {% set version = dbt_cdc._last_commit(consumer).version if consumer.is_there else -1 %}
        {% do dbt_cdc._ensure_state_tables('consumers') if not dbt_cdc._has_state('consumer_bookmarks') %}
        {% do dbt_cdc._add_columns_of_bookmarks(consumer.told_bookmark) %}
        {% do dbt_cdc._check_is_same_table(consumer, version) if not consumer.starts_over and not flags.EMPTY %}
        {% do dbt_cdc._check_not_taken_back(consumer) if consumer.is_there and not consumer.starts_over %}
        {% do dbt_cdc._reopen_bookmarks(consumer, known, version) if known %}
        {% do dbt_cdc._enter_bookmarks(consumer, new, version) %}
        {% do consumer.update(is_open=true) %}
        {#- a replica's statement asks it; dbt's own would double rows, or put older ones in the place of newer ones -#}
        {% do dbt_cdc.raise_cdc_error(
            313, 'since this run has read the bookmark of ' ~ consumer.name ~ ', another one has opened or moved it, '
            ~ 'or reset_consumer has taken it back', 'when the other run is done, dbt run --select '
            ~ dbt_cdc._selector_of(consumer.name) ~ ' takes what is left'
        ) if consumer.kind == 'incremental' and dbt_cdc._is_overtaken(consumer) %}
    {% endif %}
{% endmacro %}


{#- The columns `relation`, `source_table` and `kind` came later, as any bookmark tells. -#}
{% macro _add_columns_of_bookmarks(bookmark) %}
    {% set cache = dbt_cdc._invocation_cache() %}
    {% if not cache.get('has_all_columns') %}
        {% do dbt_cdc._add_missing_columns('consumer_bookmarks', bookmark or adapter.get_columns_in_relation(
            dbt_cdc._state_relation('consumer_bookmarks')) | map(attribute='name') | list) %}
        {% do cache.update(has_all_columns=true) %}
    {% endif %}
{% endmacro %}


{#- What the bookmarks of a consumer say that this command has opened, as SQL: (consumer, instance, LSN). One that is
    where it is to be, as that of an instance that has ended, stays closed. One that goes back to its beginning, of a
    consumer that is made anew while nothing is published, has an LSN of no digits. -#}
{% macro _open_marks(consumer) %}
    {% set open = [] %}
    {% for window in consumer.windows.values() if window.get('is_open') and window.bookmark_lsn is not none %}
        {% for name in [window.instance.name] + window.get('handed_over', []) %}
            {% do open.append('(' ~ dbt_cdc._literals([consumer.name, name | lower, window.bookmark_lsn]) ~ ')') %}
        {% endfor %}
    {% endfor %}
    {% do return(open) %}
{% endmacro %}


{#- A row where these marks are still open, all of them. -#}
{% macro _are_open_sql(open) -%}
select 1 from {{ dbt_cdc._state_relation('consumer_bookmarks') }}
where (consumer, lower(capture_instance), open_lsn) in ({{ open | join(', ') }})
having count(*) = {{ open | length }}
{%- endmacro %}


{#- Whether another run has opened or moved a bookmark of the consumer since this one has opened it. -#}
{% macro _is_overtaken(consumer) %}
    {% set open = dbt_cdc._open_marks(consumer) if consumer.is_open else [] %}
    {% do return(open and not dbt_cdc._fetch(dbt_cdc._are_open_sql(open))) %}
{% endmacro %}


{#- `--empty` consumes nothing, yet it may leave a write in the table's history: with that the consumer is where it
    was, or at its beginning (an open_lsn of no digits) where the table has none of its rows any more. -#}
{% macro _marks_of_empty_run(consumer) %}
    {% set bookmarks, marks = consumer.get('bookmarks', {}).values(), [] %}
    {% set starts_over = consumer.starts_over and (not consumer.is_there or consumer.kind == 'incremental') %}
    {% for bookmark in bookmarks if starts_over or bookmarks | rejectattr('open_lsn', 'none') | list %}
        {% do marks.append(dict(bookmark, open_lsn='' if starts_over else bookmark.last_lsn or '')) %}
    {% endfor %}
    {% do return(marks) %}
{% endmacro %}


{#- A bookmark that another run has opened or moved meanwhile is that run's, and one that reset_consumer has taken back
    (it accepts a loss) stays so; after `--empty` (an open_lsn of no digits) it goes back. -#}
{% macro _reopen_bookmarks(consumer, marks, version) %}
    {% set values = {} %}
    {% for column in ['mode', 'last_lsn', 'open_lsn', 'source_table'] %}
        {% set of_instances = {} %}
        {% for mark in marks %}
            {% do of_instances.update({mark.capture_instance | lower: dbt_cdc._literal(mark.get(column))}) %}
        {% endfor %}
        {% do values.update({column: dbt_cdc._case_of('lower(capture_instance)', of_instances)}) %}
    {% endfor %}
    {% set opened, accepted = {}, {} %}
    {% for mark in marks %}
        {% set name = mark.capture_instance | lower %}
        {% set as_read = consumer.bookmarks[name] %}
        {% do opened.update({name: dbt_cdc._literal(as_read.open_lsn)}) %}
        {% do accepted.update({name: dbt_cdc._state_value(as_read.accepts_loss, 'boolean')}) %}
    {% endfor %}
    {% do dbt_cdc._update_state(
        'consumer_bookmarks', dict(
            values, target_version=version, relation=dbt_cdc._literal(dbt_cdc._told_name(this))),
        dbt_cdc._is_bookmark(consumer, marks | map(attribute='capture_instance') | list)
        ~ ' and open_lsn <=> ' ~ dbt_cdc._case_of('lower(capture_instance)', opened)
        ~ ' and accepts_loss <=> ' ~ dbt_cdc._case_of('lower(capture_instance)', accepted)
        ~ " and (open_lsn = '' or coalesce(last_lsn, '') <= coalesce(" ~ values.last_lsn ~ ", ''))") %}
{% endmacro %}


{% macro _enter_bookmarks(consumer, windows, version) %}
    {% set rows = [] %}
    {% for window in windows %}
        {% do rows.append({
            'consumer': consumer.name, 'capture_instance': window.instance.name, 'mode': window.mode,
            'last_lsn': window.consumed_lsn, 'open_lsn': window.bookmark_lsn, 'target_version': version,
            'accepts_loss': false, 'create_date': 'now', 'relation': dbt_cdc._told_name(this),
            'source_table': window.instance.table, 'kind': consumer.kind,
        }) %}
    {% endfor %}
    {% do dbt_cdc._insert_state(
        'consumer_bookmarks', rows,
        dbt_cdc._is_bookmark(consumer, windows | map(attribute='instance.name') | list)) %}
{% endmacro %}
