{#- What a table's history tells of the bookmarks that stand open (docs/decisions/0009). -#}

{#- What an earlier run has opened was consumed if its table has got rows since: up to where the MERGE says, which may
    be that of a run whose bookmark another one has opened further. The table is quoted, since it may be called
    history. -#}
{% macro _settle_open_bookmarks(consumer) %}
    {% set open = consumer.bookmarks.values() | rejectattr('open_lsn', 'none') | list %}
    {% set writes = ['WRITE', 'MERGE'] + dbt_cdc._makes_of_a_table() %}
    {% set commits = dbt_cdc._last_commits(this.quote(identifier=true)) | selectattr('operation', 'in', writes) | list
        if open else [] %}
    {% for bookmark in open if commits and commits[0].version > bookmark.target_version %}
        {% do bookmark.update(last_lsn=dbt_cdc._merged_up_to(bookmark, commits) or bookmark.open_lsn or none) %}
    {% endfor %}
{% endmacro %}


{#- What the conditions of the last MERGE say; none where the last write is another one. -#}
{% macro _merged_up_to(bookmark, commits) %}
    {% set found = modules.re.search(
        dbt_cdc._merge_mark(bookmark.capture_instance, '(0x[0-9A-F]{20})'), commits[0].operationParameters | string) %}
    {% do return(found[1] if found else none) %}
{% endmacro %}


{% macro _merge_mark(capture_instance, lsn) %}
    {% do return('dbt_cdc ' ~ local_md5(capture_instance | lower) ~ ' up to ' ~ lsn) %}
{% endmacro %}


{#- Whether a column of the changes has a value, in words that Delta writes into the table's history with the commit:
    Spark would fold a condition without a column. -#}
{% macro _told_condition(consumer, column, value) -%}
    {%- set marks = [] -%}
    {%- for window in consumer.windows.values() if window.bookmark_lsn -%}
        {%- do marks.append(dbt_cdc._merge_mark(window.instance.name, window.bookmark_lsn)) -%}
    {%- endfor -%}
    {%- set mark = marks | join('; ') ~ ': ' -%}
concat('{{ mark }}', changes.{{ column }}) = '{{ mark ~ value }}'
{%- endmacro %}
