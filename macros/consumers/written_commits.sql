{#- Which commits of a table's history are its consumer's own writes. -#}

{#- The last commit with rows by the consumer itself. Each MERGE of a replica or history says that it is one, others
    are somebody's repairs; an incremental model's statement is dbt's, and says nothing. -#}
{% macro _last_write(consumer, bookmark, commits) %}
    {% for commit in commits if dbt_cdc._is_write_of(consumer, bookmark, commit) %}
        {% do return(commit) %}
    {% endfor %}
    {% do return(none) %}
{% endmacro %}


{% macro _is_write_of(consumer, bookmark, commit) %}
    {% do return(
        commit.operation in dbt_cdc._makes_of_a_table() or dbt_cdc._merged_up_to(bookmark, commit)
        or consumer.kind == 'incremental' and commit.operation in ['WRITE', 'MERGE']
    ) %}
{% endmacro %}


{#- What the conditions of a MERGE say, or the properties of a table that was made; none where they are another
    one's. -#}
{% macro _merged_up_to(bookmark, commit) %}
    {% set found = modules.re.search(
        dbt_cdc._merge_mark(bookmark.capture_instance, '(0x[0-9A-F]{20})'), commit.operationParameters | string) %}
    {% do return(found[1] if found else none) %}
{% endmacro %}


{% macro _merge_mark(capture_instance, lsn) %}
    {% do return('dbt_cdc ' ~ local_md5(capture_instance | lower) ~ ' up to ' ~ lsn) %}
{% endmacro %}


{#- The materialization that has made a table; dbt's own says nothing. -#}
{% macro _kind_of_make(commit) %}
    {% set found = modules.re.search('dbt_cdc\\.made\\W+(\\w+)', commit.operationParameters | string) %}
    {% do return(found[1] if found else 'incremental') %}
{% endmacro %}


{#- Up to where a write of the consumer brings each instance, also one that it hands over. -#}
{% macro _merge_marks(consumer) %}
    {% set marks = [] %}
    {% for window in consumer.windows.values() if window.bookmark_lsn %}
        {% for name in [window.instance.name] + window.get('handed_over', []) %}
            {% do marks.append(dbt_cdc._merge_mark(name, window.bookmark_lsn)) %}
        {% endfor %}
    {% endfor %}
    {% do return(marks | join('; ')) %}
{% endmacro %}


{#- Whether a column of the changes has a value, in words that Delta writes into the table's history with the commit:
    Spark would fold a condition without a column. -#}
{% macro _told_condition(consumer, column, value) -%}
    {%- set mark = dbt_cdc._merge_marks(consumer) ~ ': ' -%}
concat('{{ mark }}', changes.{{ column }}) = '{{ mark ~ value }}'
{%- endmacro %}
