{#- What a model's own SQL says, which is looked through by words: without what new_changes has given. -#}

{% macro _own_sql(consumer, changes) %}
    {% set own = [changes] %}
    {% for text in consumer.texts %}
        {% do own.append(own[-1].replace(text, ' __changes__ ')) %}
    {% endfor %}
    {% do return(own[-1]) %}
{% endmacro %}


{#- Without comments, and texts empty; a quoted name is a word, which ends in `_` where SQL has that word. -#}
{% macro _without_quotes(sql) %}
    {% set parts, plain = modules.re.findall(dbt_cdc._texts_and_names(), sql), [] %}
    {% for piece in modules.re.split(dbt_cdc._texts_and_names(), sql) %}
        {% set part = '' if loop.last else parts[loop.index0] %}
        {% set word = dbt_cdc._word_of(part[1:-1]) if part.startswith('`')
            else ' ' if part[:2] in ['', '--', '/*'] else " '' " %}
        {% do plain.append(piece ~ word) %}
    {% endfor %}
    {% do return(plain | join) %}
{% endmacro %}


{% macro _word_of(name) %}
    {% set word = modules.re.sub('\\W', '_', name) %}
    {% do return(word ~ ('_' if dbt_cdc._is_word_of_sql(word))) %}
{% endmacro %}


{% macro _is_word_of_sql(word) %}
    {% do return(modules.re.fullmatch(
        '(?i)' ~ dbt_cdc._dropping_word() ~ '|' ~ dbt_cdc._word_before_a_value()
        ~ '|from|left|as|window|filter|with|union|group|order|partition|end|null|true|false|over', word)) %}
{% endmacro %}


{% macro _left_join() %}
    {% do return('\\bleft\\s+(?:outer\\s+)?join\\b') %}
{% endmacro %}


{% macro _dropping_word() %}
    {% do return('(?<![.])\\b(?:where|having|qualify|join|limit|offset|except|minus|intersect|tablesample|lateral|pivot'
        ~ '|unpivot)\\b') %}
{% endmacro %}


{% macro _word_before_a_value() %}
    {% do return('\\b(?:select|distinct|all|case|when|then|else|and|or|not|in|is|r?like|ilike|regexp|between|escape|div'
        ~ '|by|on|using|where|having|qualify)\\b') %}
{% endmacro %}


{#- The queries that read the changes, by whatever names and brackets, without `* except (...)`: a query in brackets
    has given way to a word, and `with_arguments` all else in brackets is in {}. -#}
{% macro _queries_of_changes(sql, with_arguments=false) %}
    {% set plain = modules.re.sub('(?i)[*]\\s*except\\s*[(][^()]*[)]|\\bdistinct\\s+from\\b', ' ', sql) %}
    {#- the condition of an aggregate -#}
    {% set plain = modules.re.sub('(?i)\\bfilter\\s*[(]\\s*where\\b', ' (', plain) %}
    {% set left, found = namespace(sql=plain), [] %}
    {#- the innermost brackets first: they give way to what they hold -#}
    {% for _ in range(plain.count('(')) %}
        {% set group = modules.re.search('(?i)(?:(\\w+)\\s+as\\s*)?[(]([^()]*)[)]', left.sql) %}
        {% if group %}
            {% set reads, name = '__changes__' in group[2], group[1] %}
            {% set is_query = name or modules.re.search('(?i)\\bselect\\b', group[2]) %}
            {% do found.append(group[2]) if reads %}
            {% set left.sql = left.sql[:group.start()] ~ (
                ' __changes__ ' if reads and not name
                else ' {' ~ group[2] ~ '} ' if with_arguments and not is_query else ' ') ~ left.sql[group.end():] %}
            {% if name and reads %}
                {% set left.sql = modules.re.sub(
                    '(?i)\\b(from|join|left__join|,)\\s+' ~ name ~ '\\b', '\\1 __changes__ ', left.sql) %}
            {% endif %}
        {% endif %}
    {% endfor %}
    {% do return(found + [left.sql]) %}
{% endmacro %}
