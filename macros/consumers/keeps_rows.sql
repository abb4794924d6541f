{#- Refuses a replica or history whose own SQL may leave changes out: the change that takes a row out of a filter
    would not meet it, and the row would stay for good. What new_changes has given is no SQL of the model. -#}
{% macro _check_keeps_rows(consumer, sql) %}
    {% set own = [sql] %}
    {% for text in consumer.texts %}
        {% do own.append(own[-1].replace(text, ' __changes__ ')) %}
    {% endfor %}
    {% set found = dbt_cdc._words_that_drop_rows(own[-1]) %}
    {% if found and not (config.get('meta') or {}).get('may_filter') %}
        {% do dbt_cdc.raise_cdc_error(
            22938, consumer.kind ~ ' ' ~ consumer.name ~ " has '" ~ found | join("', '")
            ~ "' in its SQL, so a row whose change it leaves out would stay as it was",
            'say the part of the table by the operation, as ' ~ dbt_cdc._page('replica.md') ~ ' shows; or where all '
            ~ "changes of a row are left out or none, give config(meta={'may_filter': true})"
        ) %}
    {% endif %}
{% endmacro %}


{#- Words right behind the changes, or in the outermost query: a subquery may ask other tables what it likes. A left
    join drops none, nor do `* except (...)` and the condition of an aggregate. -#}
{% macro _words_that_drop_rows(sql) %}
    {% set words = 'where|having|qualify|join|limit|offset|except|minus|intersect|tablesample|lateral' %}
    {% set plain = modules.re.sub(dbt_cdc._texts_and_names(), ' ', sql) %}
    {% set plain = modules.re.sub(
        '(?i)\\bleft\\s+(outer\\s+)?join\\b|[*]\\s*except\\b|\\bfilter\\s*[(]\\s*where\\b', ' ', plain) %}
    {% set found = modules.re.findall(
        '(?i)\\b__changes__\\s*[)](?:\\s+as\\s+\\w+|\\s+(?!inner|cross|right|full|' ~ words ~ ')\\w+)?\\s+'
        ~ '(?:(?:inner|cross|right|full|outer)\\s+)*(' ~ words ~ ')\\b', plain) %}
    {% set outermost = [plain] %}
    {% for _ in range(plain.count('(')) %}
        {% do outermost.append(modules.re.sub('[(][^()]*[)]', ' ', outermost[-1])) %}
    {% endfor %}
    {% set found = found + modules.re.findall('(?i)\\b(?:' ~ words ~ ')\\b', outermost[-1]) %}
    {% do return(found | map('lower') | unique | list) %}
{% endmacro %}
