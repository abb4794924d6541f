{#- Refuses a replica or history whose own SQL may leave changes out: the change that takes a row out of a filter
    would not meet it, and the row would stay for good. What new_changes has given is no SQL of the model. -#}
{% macro _check_keeps_rows(consumer, changes) %}
    {% set sql = dbt_cdc._own_sql(consumer, changes) %}
    {% if dbt_cdc._partial_instance(consumer) and modules.re.search('(?i)\\bas\\s+`?__[$]operation\\b', sql) %}
        {% do dbt_cdc.raise_cdc_error(
            22938, consumer.kind ~ ' ' ~ consumer.name ~ ' gives changes another operation, and before_image of '
            ~ dbt_cdc._partial_instance(consumer).name ~ ' is partial: a row that comes in would lack what its update '
            ~ 'does not tell', 'take all of the table, and say the part of it in a view over this model'
        ) %}
    {% endif %}
    {% do dbt_cdc._check_names_are_kept(consumer, sql) if dbt_cdc._partial_instance(consumer) %}
    {% set found = dbt_cdc._words_that_drop_rows(sql) %}
    {% if found and not (config.get('meta') or {}).get('may_filter') %}
        {% do dbt_cdc.raise_cdc_error(
            22938, consumer.kind ~ ' ' ~ consumer.name ~ " has '" ~ found | join("', '")
            ~ "' in its SQL, so a row whose change it leaves out would stay as it was",
            'say the part of the table by the operation, as ' ~ dbt_cdc._page('replica.md') ~ ' shows; or where all '
            ~ "changes of a row are left out or none, give config(meta={'may_filter': true})"
        ) %}
    {% endif %}
{% endmacro %}


{% macro _own_sql(consumer, changes) %}
    {% set own = [changes] %}
    {% for text in consumer.texts %}
        {% do own.append(own[-1].replace(text, ' __changes__ ')) %}
    {% endfor %}
    {% do return(own[-1]) %}
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
    left join to other tables drops no row, nor do `* except (...)` and the condition of an aggregate. What makes rows
    out of a list would not take away those of the list of before. -#}
{% macro _words_that_drop_rows(sql) %}
    {% set plain = modules.re.sub(
        '(?i)[*]\\s*except\\b|\\bfilter\\s*[(]\\s*where\\b|\\bdistinct\\s+from\\b', ' ',
        dbt_cdc._without_quotes(sql)) %}
    {% set plain = modules.re.sub('(?i)\\bleft\\s+(?:outer\\s+)?join\\b', ' left__join ', plain) %}
    {% set plain = modules.re.sub(
        '(?i)\\b((?:(?:pos|variant_)?explode|inline)(?:_outer)?|stack)\\s*[(]', ' \\1__rows (', plain) %}
    {% set left, found = namespace(sql=plain), [] %}
    {#- the innermost brackets first: they give way to what they hold -#}
    {% for _ in range(plain.count('(')) %}
        {% set group = modules.re.search('(?i)(?:(\\w+)\\s+as\\s*)?[(]([^()]*)[)]', left.sql) %}
        {% if group %}
            {% set reads, name = '__changes__' in group[2], group[1] %}
            {% do found.extend(dbt_cdc._dropping_words(group[2])) if reads %}
            {% set left.sql = left.sql[:group.start()] ~ (
                ' ' if name or not reads else ' __changes__ ') ~ left.sql[group.end():] %}
            {% if name and reads %}
                {% set left.sql = modules.re.sub(
                    '(?i)\\b(from|join|left__join|,)\\s+' ~ name ~ '\\b', '\\1 __changes__ ', left.sql) %}
            {% endif %}
        {% endif %}
    {% endfor %}
    {% do return((found + dbt_cdc._dropping_words(left.sql)) | unique | list) %}
{% endmacro %}


{#- Of a query without brackets, quotes and comments. -#}
{% macro _dropping_words(query) %}
    {% set found = modules.re.findall('(?i)' ~ dbt_cdc._dropping_word() ~ '|\\b\\w+(?=__rows\\b)', query) %}
    {% if modules.re.search('\\bleft__join\\s+__changes__', query)
        and not modules.re.search('(?i)\\bfrom\\s+__changes__', query) %}
        {% do found.append('left join') %}
    {% endif %}
    {% do found.append('from ..., ...') if modules.re.search(
        '(?i)\\bfrom\\s+\\w+(?:\\s+as\\b)?(?:\\s+(?!window\\b)\\w+)?\\s*,', query) %}
    {% do return(found | map('lower') | list) %}
{% endmacro %}


{% macro _dropping_word() %}
    {% do return('\\b(?:where|having|qualify|join|limit|offset|except|minus|intersect|tablesample|lateral|pivot'
        ~ '|unpivot)\\b') %}
{% endmacro %}


{#- Without comments and texts; a quoted name is a word. -#}
{% macro _without_quotes(sql) %}
    {% set parts, plain = modules.re.findall(dbt_cdc._texts_and_names(), sql), [] %}
    {% for piece in modules.re.split(dbt_cdc._texts_and_names(), sql) %}
        {% set part = '' if loop.last else parts[loop.index0] %}
        {% set word = modules.re.sub('\\W', '_', part[1:-1]) if part.startswith('`') else ' ' %}
        {% set is_reserved = modules.re.fullmatch(
            '(?i)' ~ dbt_cdc._dropping_word() ~ '|from|distinct|left|as|window|filter', word) %}
        {% do plain.append(piece ~ word ~ ('_' if is_reserved)) %}
    {% endfor %}
    {% do return(plain | join) %}
{% endmacro %}
