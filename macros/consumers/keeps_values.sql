{#- Partial images: a value that an update does not tell stays as it was in the column of its name, and in no other
    one. -#}
{% macro _check_keeps_values(consumer, sql) %}
    {% set instance = dbt_cdc._partial_instance(consumer) %}
    {% set sql = dbt_cdc._without_same_names(sql) %}
    {% do dbt_cdc.raise_cdc_error(
        22938, consumer.kind ~ ' ' ~ consumer.name ~ ' gives changes another operation, and before_image of '
        ~ instance.name ~ ' is partial: a row that comes in would lack what its update '
        ~ 'does not tell', 'take all of the table, and say the part of it in a view over this model'
    ) if dbt_cdc._gives_operation(sql) %}
    {% set columns = {} %}
    {% for column in instance.columns if column.name not in instance.index_columns
        and not (config.get('meta') or {}).get('may_compute') %}
        {% for word in [modules.re.sub('\\W', '_', column.name), dbt_cdc._word_of(column.name)] %}
            {% do columns.update({word | lower: column.name}) %}
        {% endfor %}
    {% endfor %}
    {% set found = dbt_cdc._computed_column(columns, sql) %}
    {% do dbt_cdc.raise_cdc_error(
        22938, consumer.kind ~ ' ' ~ consumer.name ~ ' makes another column of ' ~ found
        ~ ', and before_image of ' ~ instance.name ~ ' is partial: where an update does not tell it, that '
        ~ 'would be NULL', 'keep the column under its name, and rename or compute in a view over this model; '
        ~ "or where that is meant, give config(meta={'may_compute': true})"
    ) if found %}
{% endmacro %}


{#- Whether it is the name of another value: behind a value, with AS or without. -#}
{% macro _gives_operation(sql) %}
    {% do return(true if modules.re.search(
        "(?i)(?:[)']|(?<!\\w)(?!" ~ dbt_cdc._word_before_a_value() ~ ')\\w+\\s)\\s*___operation\\b', sql) else false) %}
{% endmacro %}


{#- `name as name` is the name. -#}
{% macro _without_same_names(sql) %}
    {% do return(modules.re.sub('(?i)\\b((?:\\w+[.])*(\\w+))\\s+(?:as\\s+)?\\2\\b', '\\1', sql)) %}
{% endmacro %}


{#- The first of these columns (by their words) that a query of the changes has elsewhere than alone in its list of
    columns; none where none is. Whose column a name without a table is in a query of several, nothing tells. -#}
{% macro _computed_column(columns, sql) %}
    {% set names_of_ctes = modules.re.findall('(\\w+)\\s+as\\s*[(]', sql | lower) %}
    {% set queries = dbt_cdc._queries_of_changes(sql | lower) %}
    {% for query in dbt_cdc._queries_of_changes(sql | lower, true) if columns %}
        {% set others, tables = [], names_of_ctes[:] %}
        {% for table, alias in modules.re.findall(
            '\\b(?:from|join)\\s+(?:as\\s+)?([\\w.]+)(?:\\s+as)?(?:\\s+(?!join\\b)(\\w+))?', queries[loop.index0]) %}
            {% do (tables if table == '__changes__' else others).extend([table.split('.')[-1], alias]) %}
        {% endfor %}
        {% set at = namespace(depth=0, clause='with') %}
        {% for token in modules.re.findall('\\w+(?:[.]\\w+)*|[^\\w\\s]', query) %}
            {% set before, after = loop.previtem | default(''), loop.nextitem | default('') %}
            {% set at.depth = at.depth + {'{': 1, '}': -1}.get(token, 0) %}
            {% if not at.depth and (token in ['select', 'from', 'where', 'having', 'qualify', 'limit']
                or after == 'by' and token in ['group', 'order', 'sort', 'cluster', 'distribute']) %}
                {% set at.clause = token %}
            {% endif %}
            {% set path = token.split('.') %}
            {% set is_other = path[:-1] | select('in', others) | list %}
            {% set path = path[1:] if path | length > 1 and path[0] in tables else path %}
            {% set name = (path | select('in', columns) | list + [none])[0] %}
            {% if name and not is_other and at.clause == 'select'
                and dbt_cdc._is_value(token, before, after, at)
                and not (not at.depth and name == path[-1]
                    and before in ['select', 'distinct', 'all', ',']
                    and after in ['', ',', 'from', 'union', 'except', 'minus', 'intersect'])
                and ('.' in token or not others or after == 'as' or at.depth) %}
                {% do return(columns[name]) %}
            {% endif %}
        {% endfor %}
    {% endfor %}
    {% do return(none) %}
{% endmacro %}


{#- Whether a word is one of a column that is read: no alias, table, type, function, field or word of SQL. -#}
{% macro _is_value(token, before, after, at) %}
    {% set is_read = modules.re.fullmatch(dbt_cdc._word_before_a_value() ~ "|[^\\w}\\])':.]", before)
        or before == 'from' and at.depth %}
    {#- extract(year from ..), interval 1 day, rows between .. and current row -#}
    {% set is_word = after == 'from' and at.depth or token == 'interval' and after[:1].isdigit()
        or token == 'current' and after == 'row' or token == 'row' and before == 'current'
        or token in ['rows', 'range'] and after == 'between' %}
    {% do return(is_read and not is_word and (
        '.' in token or after not in ['{', "'", '.'] and not dbt_cdc._is_word_of_sql(token))) %}
{% endmacro %}
