{#- Refuses a replica or history whose own SQL may leave changes out: the change that takes a row out of a filter
    would not meet it, and the row would stay for good. What new_changes has given is no SQL of the model. -#}
{% macro _check_keeps_rows(consumer, sql) %}
    {% set own = [sql] %}
    {% for text in consumer.texts %}
        {% do own.append(own[-1].replace(text, ' __changes__ ')) %}
    {% endfor %}
    {% if dbt_cdc._partial_instance(consumer) and modules.re.search('(?i)\\bas\\s+`?__[$]operation\\b', own[-1]) %}
        {% do dbt_cdc.raise_cdc_error(
            22938, consumer.kind ~ ' ' ~ consumer.name ~ ' gives changes another operation, and before_image of '
            ~ dbt_cdc._partial_instance(consumer).name ~ ' is partial: a row that comes in would lack what its update '
            ~ 'does not tell', 'take all of the table, and say the part of it in a view over this model'
        ) %}
    {% endif %}
    {% do dbt_cdc._check_names_are_kept(consumer, own[-1]) if dbt_cdc._partial_instance(consumer) %}
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


{#- A value that an update does not tell stays as it was in the column of its name, and in no other one. -#}
{% macro _check_names_are_kept(consumer, sql) %}
    {% set instance = dbt_cdc._partial_instance(consumer) %}
    {% set plain = modules.re.sub('--[^\\n]*|/[*](?s:.*?)[*]/', ' ', sql) %}
    {% for column in instance.columns if column.name not in instance.index_columns
        and not (config.get('meta') or {}).get('may_compute') %}
        {% set name = '`?' ~ modules.re.escape(column.name) ~ '`?' %}
        {% if modules.re.search('(?i)(?<![\\w`])' ~ name ~ '\\s+as\\s+(?!' ~ name ~ '(?!\\w))', plain)
            or modules.re.search('(?i)[(][^()]*(?<![\\w`])' ~ name ~ '(?!\\w)[^()]*[)]\\s*as\\s', plain) %}
            {% do dbt_cdc.raise_cdc_error(
                22938, consumer.kind ~ ' ' ~ consumer.name ~ ' makes another column of ' ~ column.name
                ~ ', and before_image of ' ~ instance.name ~ ' is partial: where an update does not tell it, that '
                ~ 'would be NULL', 'keep the column under its name, and rename or compute in a view over this model; '
                ~ "or where that is meant, give config(meta={'may_compute': true})"
            ) %}
        {% endif %}
    {% endfor %}
{% endmacro %}


{#- Words in a query that reads the changes, by whatever names and brackets: a query of other tables may have them. A
    left join drops no row, nor do `* except (...)` and the condition of an aggregate. -#}
{% macro _words_that_drop_rows(sql) %}
    {% set words = '(?i)\\b(?:where|having|qualify|join|limit|offset|except|minus|intersect|tablesample|lateral)\\b' %}
    {% set plain = modules.re.sub(dbt_cdc._texts_and_names(), ' ', sql) %}
    {% set plain = modules.re.sub(
        '(?i)\\bleft\\s+(outer\\s+)?join\\b|[*]\\s*except\\b|\\bfilter\\s*[(]\\s*where\\b', ' ', plain) %}
    {% set left, found = namespace(sql=plain), [] %}
    {#- the innermost brackets first: they give way to what they hold -#}
    {% for _ in range(plain.count('(')) %}
        {% set group = modules.re.search('(?:(\\w+)\\s+as\\s*)?[(]([^()]*)[)]', left.sql) %}
        {% if group %}
            {% set reads, name = '__changes__' in group[2], group[1] %}
            {% do found.extend(modules.re.findall(words, group[2])) if reads %}
            {% set left.sql = left.sql[:group.start()] ~ (
                ' ' if name or not reads else ' __changes__ ') ~ left.sql[group.end():] %}
            {% if name and reads %}
                {% set left.sql = modules.re.sub(
                    '(?i)\\b(from|join|,)\\s+' ~ name ~ '\\b', '\\1 __changes__ ', left.sql) %}
            {% endif %}
        {% endif %}
    {% endfor %}
    {% do return((found + modules.re.findall(words, left.sql)) | map('lower') | unique | list) %}
{% endmacro %}
