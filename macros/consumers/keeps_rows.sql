{#- Refuses a replica or history whose own SQL may leave changes out: the change that takes a row out of a filter
    would not meet it, and the row would stay for good. What new_changes has given is no SQL of the model. -#}
{% macro _check_keeps_rows(consumer, changes) %}
    {% set sql = dbt_cdc._without_quotes(dbt_cdc._own_sql(consumer, changes)) %}
    {% do dbt_cdc._check_keeps_values(consumer, sql) if dbt_cdc._partial_instance(consumer) %}
    {% set found = dbt_cdc._words_that_drop_rows(sql, consumer.windows | length > 1) %}
    {% do dbt_cdc.raise_cdc_error(
        22938, consumer.kind ~ ' ' ~ consumer.name ~ " has '" ~ found | join("', '")
        ~ "' in its SQL, so a row whose change it leaves out would stay as it was",
        'say the part of the table by the operation, as ' ~ dbt_cdc._page('replica.md') ~ ' shows; or where all '
        ~ "changes of a row are left out or none, give config(meta={'may_filter': true})"
    ) if found and not (config.get('meta') or {}).get('may_filter') %}
{% endmacro %}


{#- Words in a query that reads the changes. A left join to other tables drops no row. What makes rows out of a list
    would not take away those of the list of before. -#}
{% macro _words_that_drop_rows(sql, of_several) %}
    {% set plain = modules.re.sub('(?i)' ~ dbt_cdc._left_join(), ' left__join ', sql) %}
    {% set plain = modules.re.sub(
        '(?i)\\b((?:(?:pos|variant_)?explode|inline)(?:_outer)?|stack)\\s*[(]', ' \\1__rows (', plain) %}
    {% set found = [] %}
    {% for query in dbt_cdc._queries_of_changes(plain) %}
        {% do found.extend(dbt_cdc._dropping_words(query, of_several)) %}
    {% endfor %}
    {% do return(found | unique | list) %}
{% endmacro %}


{#- Of a query without brackets, quotes and comments. A left join drops the changes on its right: those of the other
    instance, where there are two (`of_several`). -#}
{% macro _dropping_words(query, of_several) %}
    {% set found = modules.re.findall('(?i)' ~ dbt_cdc._dropping_word() ~ '|\\b\\w+(?=__rows\\b)', query) %}
    {% if modules.re.search('\\bleft__join\\s+__changes__', query)
        and (of_several or not modules.re.search('(?i)\\bfrom\\s+__changes__', query)) %}
        {% do found.append('left join') %}
    {% endif %}
    {% do found.append('from ..., ...') if modules.re.search(
        '(?i)\\bfrom\\s+[\\w.]+(?:\\s+as\\b)?(?:\\s+(?!window\\b)\\w+)?\\s*,', query) %}
    {% do return(found | map('lower') | list) %}
{% endmacro %}
