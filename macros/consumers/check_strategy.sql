{#- What dbt's incremental strategies would do to a consumer's rows. Asked by the pre-hook: what is raised before, dbt
    does not tell of a model of batches. -#}
{% macro _check_strategy(consumer) %}
    {% if consumer.kind == 'incremental' %}
        {% set strategy = dbt_cdc._incremental_strategy() %}
        {% do dbt_cdc._check_takes_all(consumer, strategy) %}
        {% do dbt_cdc._check_has_a_row_a_key(consumer) if strategy in ['merge', 'delete+insert'] %}
        {% do dbt_cdc._check_types_are_held(consumer) %}
    {% endif %}
{% endmacro %}


{#- Strategies that take a window for all that a part of the table has. -#}
{% macro _check_takes_all(consumer, strategy) %}
    {% set is_recomputed = strategy == 'insert_overwrite' and config.get('partition_by')
        and dbt_cdc._recomputes(dbt_cdc._plain_sql(consumer)) %}
    {% do dbt_cdc.raise_cdc_error(
        22938, 'model ' ~ model.name ~ " takes new_changes and its incremental_strategy is '" ~ strategy ~ "'" ~ (
            ': each batch would take all changes for its own, and the bookmark moves behind those that none has'
            if strategy == 'microbatch' else
            ': each run would replace ' ~ ('its partitions' if config.get('partition_by') else 'the whole table')
            ~ ' by the changes of one window'),
        "set incremental_strategy to 'append' or 'merge'" ~ (
            ', or give partition_by and a query that computes whole partitions of another table, those that the '
            ~ 'changes name, by an inner or semi join'
            if strategy == 'insert_overwrite')
    ) if strategy in ['microbatch', 'insert_overwrite', 'replace_where'] and not is_recomputed %}
{% endmacro %}


{#- A MERGE inserts both of two rows with a key that the table does not have yet. Only what hands the changes on as they
    are is refused: SQL that may make one row a key of them is not looked through, and rows of one operation may come
    once. -#}
{% macro _check_has_a_row_a_key(consumer) %}
    {% set given = config.get('unique_key') %}
    {% set sql, names = dbt_cdc._plain_sql(consumer), [] %}
    {% set renamed = dict(modules.re.findall(
        '(?:\\bselect|,)\\s*(?:\\w+[.])*(\\w+)\\s+(?:as\\s+)?(\\w+)', sql) | map('reverse') | map('list')) %}
    {% for name in ([given] if given is string else given or []) %}
        {% do names.append(renamed.get(name | lower, name | lower)) %}
    {% endfor %}
    {% for window in consumer.windows.values() if window.kind == 'all' and names
        and not names | reject('in', window.instance.index_columns | map('lower') | list) | list
        and dbt_cdc._hands_on(sql)
        and not modules.re.search('___operation\\s*(?:=\\s*[12]\\b|in\\s*[(]\\s*[12]\\s*[)])', sql) %}
        {% do dbt_cdc.raise_cdc_error(
            22938, 'model ' ~ model.name ~ ' merges all changes of capture instance ' ~ window.instance.name
            ~ ' by its key (' ~ names | join(', ') ~ '): a key that changes twice would get two rows',
            "take the net changes, new_changes('" ~ window.instance.name ~ "', 'net'), or materialize it as a replica, "
            ~ 'which also deletes; for all changes add __$start_lsn, __$seqval and __$operation to unique_key'
        ) %}
    {% endfor %}
{% endmacro %}


{% macro _plain_sql(consumer) %}
    {% do return(dbt_cdc._without_quotes(dbt_cdc._own_sql(consumer, model.compiled_code or '')) | lower) %}
{% endmacro %}


{#- Whether a model's SQL reads another table than the changes and lookups, which it may compute anew. -#}
{% macro _recomputes(sql) %}
    {#- what is no table behind `from`, and lookups -#}
    {% set plain = modules.re.sub('\\b(?:extract|trim|substring|overlay)\\s*[(][^()]*[)]|\\bdistinct\\s+from\\b|'
        ~ dbt_cdc._left_join() ~ '\\s+[\\w.]+', ' ', sql) %}
    {% set read = modules.re.findall('\\b(?:from|join)\\s+([\\w.]+)', plain) %}
    {% set named = modules.re.findall('(\\w+)\\s*(?:[(][^()]*[)]\\s*)?as\\s*[(]', sql) %}
    {% do return(read | reject('in', named) | list and not dbt_cdc._hands_on(sql)) %}
{% endmacro %}


{#- Whether a model's SQL gives the changes as they are, or some of them. A left join makes no one row of several. -#}
{% macro _hands_on(sql) %}
    {% set sql = modules.re.sub(dbt_cdc._left_join(), ' ', sql) %}
    {% set words = '(?:group|distinct|union|qualify|over|join|intersect|minus|exists)' %}
    {% do return(modules.re.search('\\bfrom\\s*[(]\\s*__changes__\\s*[)]', sql) and not modules.re.search(
        '\\b(?:' ~ words ~ '\\b|in\\s*[(]\\s*(?:select|with)\\b)', sql)) %}
{% endmacro %}


{#- dbt's INSERT and MERGE round numbers, cut times and take bytes for UTF-8 in silence where the table's types hold
    less: a source's types may have widened. -#}
{% macro _check_types_are_held(consumer) %}
    {% set on_change = config.get('on_schema_change') or 'ignore' %}
    {% if consumer.is_there and not consumer.starts_over and dbt_cdc._is_building() and not consumer.is_open
        and consumer.windows.values() | selectattr('has_news') | list
        and on_change not in ['sync_all_columns', 'fail'] %}
        {% set present, widened = {}, {} %}
        {% set numbers_and_times = '(?i)(tiny|small|big)?int|float|double|decimal[(].*|date|timestamp(_ntz)?' %}
        {% for column in dbt_cdc._table_columns(this)
            if modules.re.fullmatch(numbers_and_times ~ '|string', column.dtype) %}
            {% do present.update({column.name | lower: column.dtype | lower}) %}
        {% endfor %}
        {% for row in dbt_cdc._fetch('describe query ' ~ model.compiled_code) if row.col_name | lower in present
            and modules.re.fullmatch(numbers_and_times ~ '|binary', row.data_type) %}
            {% set now, wanted = present[row.col_name | lower], row.data_type | lower %}
            {% if dbt_cdc._widens_to(now, wanted) %}
                {% do widened.update({row.col_name: row.data_type}) %}
            {% elif not dbt_cdc._keeps_values(now, wanted) %}
                {% do dbt_cdc._raise_would_be_cut(row.col_name, wanted, now) %}
            {% endif %}
        {% endfor %}
        {% do dbt_cdc._alter_types(this, widened) %}
    {% endif %}
{% endmacro %}
