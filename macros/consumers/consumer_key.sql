{#- The columns that identify a row: the model's unique_key, by default the instance's key. -#}
{% macro _consumer_key(consumer, columns) %}
    {% set given = config.get('unique_key') %}
    {% if not given and consumer.windows | length > 1 %}
        {% do dbt_cdc.raise_cdc_error(
            22938, consumer.kind ~ ' ' ~ consumer.name ~ ' takes ' ~ consumer.windows | length
            ~ ' capture instances and has no unique_key', 'name the columns that identify one of its rows'
        ) %}
    {% endif %}
    {% set names = [given] if given is string
        else given or (consumer.windows.values() | list)[0].instance.index_columns %}
    {% set key = {} %}
    {% for name in names %}
        {% if name | lower not in columns %}
            {% do dbt_cdc.raise_cdc_error(
                22938, "key column '" ~ name ~ "' is not among the columns of " ~ consumer.kind ~ ' '
                ~ consumer.name ~ ' (' ~ columns.values() | map(attribute='name') | join(', ') ~ ')',
                'select it, or name other columns as unique_key'
            ) %}
        {% endif %}
        {% do key.update({name | lower: columns[name | lower]}) %}
    {% endfor %}
    {% do dbt_cdc._check_key_of_instance(consumer, columns, key.keys() | list)
        if given and consumer.windows | length == 1 %}
    {% do return(key) %}
{% endmacro %}


{#- By other captured columns, a change of one of them would leave the row of before, and two rows may meet in one. -#}
{% macro _check_key_of_instance(consumer, columns, names) %}
    {% set instance = (consumer.windows.values() | list)[0].instance %}
    {% set own = instance.index_columns | map('lower') | sort %}
    {% set captured = instance.columns | map(attribute='name') | map('lower') | list %}
    {% if names | sort != own and not own | reject('in', columns) | list
        and not names | reject('in', captured) | list %}
        {% do dbt_cdc.raise_cdc_error(
            22938, consumer.kind ~ ' ' ~ consumer.name ~ ' has the unique_key ' ~ names | join(', ')
            ~ ', and the key of capture instance ' ~ instance.name ~ ' is ' ~ instance.index_columns | join(', '),
            'leave unique_key out'
        ) %}
    {% endif %}
{% endmacro %}
