{#- The columns that identify a row: the model's unique_key, by default the instance's key. -#}
{% macro _consumer_key(consumer, columns) %}
    {% set given = config.get('unique_key') %}
    {% do dbt_cdc.raise_cdc_error(
        22938, consumer.kind ~ ' ' ~ consumer.name ~ ' takes ' ~ consumer.windows | length
        ~ ' capture instances and has no unique_key', 'name the columns that identify one of its rows'
    ) if not given and consumer.windows | length > 1 %}
    {% set names = [given] if given is string
        else given or (consumer.windows.values() | list)[0].instance.index_columns %}
    {% set key = {} %}
    {% for name in names %}
        {% do dbt_cdc.raise_cdc_error(
            22938, "key column '" ~ name ~ "' is not among the columns of " ~ consumer.kind ~ ' '
            ~ consumer.name ~ ' (' ~ columns.values() | map(attribute='name') | join(', ') ~ ')',
            'select it, or name other columns as unique_key'
        ) if name | lower not in columns %}
        {% do key.update({name | lower: columns[name | lower]}) %}
    {% endfor %}
    {% do return(key) %}
{% endmacro %}


{#- By other columns, a change of one of them would leave the row of before, and two rows may meet in one, as by a part
    of the key, unless the model makes one row of them. A captured column that is not of the key may be another one of
    its name in the model. -#}
{% macro _check_key_of_instance(consumer, columns, key, changes) %}
    {% set instance = (consumer.windows.values() | list)[0].instance %}
    {% set own, names = instance.index_columns | map('lower') | sort, key.keys() | list %}
    {% set captured = instance.columns | map(attribute='name') | map('lower') | list %}
    {% set sql = dbt_cdc._without_quotes(dbt_cdc._own_sql(consumer, changes)) | lower %}
    {% set renamed, others = modules.re.findall('\\bas\\s+(\\w+)', sql), [] %}
    {% for name in names if name not in own %}{% do others.append(dbt_cdc._word_of(name)) %}{% endfor %}
    {% if consumer.windows | length == 1 and names | sort != own and (
        not own | reject('in', columns) | list
        or not others and not modules.re.search('\\b(?:group\\s+by|distinct|union\\s+(?!all\\b))',
            dbt_cdc._queries_of_changes(sql) | join(' ; '))
        or others and not names | reject('in', captured) | list
        and not others | select('in', renamed) | list
    ) %}
        {% do dbt_cdc.raise_cdc_error(
            22938, consumer.kind ~ ' ' ~ consumer.name ~ ' has the unique_key ' ~ names | join(', ')
            ~ ', and the key of capture instance ' ~ instance.name ~ ' is ' ~ instance.index_columns | join(', '),
            'leave unique_key out, and keep that key in the model; where a column of its name is another one, name it '
            ~ 'otherwise'
        ) %}
    {% endif %}
{% endmacro %}
