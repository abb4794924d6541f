{#- Instances that a model reads no more, and may read again: a bookmark stays where it was, without a mode, and holds
    nothing back. Read from the beginning, an instance that comes back would give its changes twice. -#}

{#- What the bookmarks of those are to say before the model writes. Where it is made anew they end with the run. -#}
{% macro _marks_left_out(consumer) %}
    {% set marks = [] %}
    {% for name, bookmark in consumer.bookmarks.items() if name not in consumer.windows %}
        {% if dbt_cdc._begins_anew(consumer) %}
            {% do marks.append(dict(bookmark, open_lsn='')) %}
        {% elif not dbt_cdc._is_left_out(consumer, name) %}
            {% do marks.extend(dbt_cdc._mark_handed_over(consumer, name, bookmark)) %}
        {% elif bookmark.mode or bookmark.open_lsn is not none %}
            {% do marks.append(dict(
                bookmark, mode=none, open_lsn=none, source_table=dbt_cdc._table_of_bookmark(consumer, name))) %}
            {% do dbt_cdc._log_line(
                consumer.name ~ ' does not read capture instance ' ~ bookmark.capture_instance ~ ' any more: cleanup '
                ~ 'waits for it no longer; if it comes back, it goes on after ' ~ bookmark.last_lsn
            ) if bookmark.mode and bookmark.last_lsn %}
        {% endif %}
    {% endfor %}
    {% do return(marks) %}
{% endmacro %}


{#- One that goes on by another instance of its table is opened with that: until the run ends, the model may read it
    again, and a run that still reads it may be at work. -#}
{% macro _mark_handed_over(consumer, name, bookmark) %}
    {% set table, marks = dbt_cdc._table_of_bookmark(consumer, name), [] %}
    {% for window in consumer.windows.values() if window.instance.table == table and window.get('is_open')
        and window.bookmark_lsn and bookmark.last_lsn and bookmark.last_lsn <= window.bookmark_lsn and not marks %}
        {% do window.setdefault('handed_over', []).append(bookmark.capture_instance) %}
        {% do marks.append(dict(bookmark, open_lsn=window.bookmark_lsn, source_table=table)) %}
    {% endfor %}
    {% do return(marks) %}
{% endmacro %}


{#- Not where another instance of its table goes on from there. -#}
{% macro _is_left_out(consumer, name) %}
    {% set table = dbt_cdc._table_of_bookmark(consumer, name) %}
    {% do return(
        name not in consumer.windows and table and not dbt_cdc._begins_anew(consumer)
        and table not in consumer.windows.values() | map(attribute='instance.table') | list
    ) %}
{% endmacro %}


{#- Whether the rows of all instances that are left out go. -#}
{% macro _begins_anew(consumer) %}
    {% do return(
        consumer.starts_over
        or consumer.kind != 'incremental' and true in consumer.windows.values() | map(attribute='is_first')
    ) %}
{% endmacro %}


{#- A bookmark of an older version tells it as long as its instance is entered. -#}
{% macro _table_of_bookmark(consumer, name) %}
    {% set instance = consumer.instances.get(name) %}
    {% do return(
        consumer.bookmarks[name].get('source_table')
        or (instance.source_schema ~ '.' ~ instance.source_name if instance else none)
    ) %}
{% endmacro %}
