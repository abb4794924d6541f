{#- Types that the user gives, and those that are asked for. -#}

{#- The columns with the types that the user gives: of the source where values are encoded, as `types` of an
    adapter. `in_yaml`: the log is there, so that the columns themselves say how they are encoded. -#}
{% macro _with_given_types(table, columns, types, in_yaml) %}
    {% set found = [] %}
    {% for name in types or {} if name not in columns | map(attribute='name') %}
        {% do dbt_cdc._check_is_text('a column that types of ' ~ table ~ ' name', name) %}
        {% do dbt_cdc.raise_cdc_error(
            22930, "types names column '" ~ name ~ "', which table " ~ table ~ ' has not',
            'it has ' ~ columns | map(attribute='name') | join(', ')
        ) %}
    {% endfor %}
    {% for column in columns %}
        {% set given = (types or {}).get(column.name) %}
        {% set meta = dict(dbt_cdc._column_meta(column)) %}
        {% do meta.pop('source_type', none) if given %}
        {% set column = dict(column, **dbt_cdc._given_type(column, given)) if given else column %}
        {% do meta.update(source_type=column.encoding) if in_yaml and column.encoding %}
        {% do found.append(dict(column, meta=meta)) %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{% macro _given_type(column, given) %}
    {% set text = given | string | lower | replace(' ', '') %}
    {#- digits in base64 may be a decimal as text: nothing would tell one from the other -#}
    {% set is_encoded = modules.re.match('decimal', text) and column.shape == 'bytes'
        or modules.re.fullmatch('date|timestamp\\(\\d\\)', text) and column.shape in ['bigint', 'any']
        or text == 'timestamp' and column.shape == 'bigint'
        or text == 'binary(hex)' and column.shape %}
    {% set data_type = modules.re.sub('^(timestamp|binary)\\(.*', '\\1', text) %}
    {% set is_time = modules.re.fullmatch('time(\\(\\d\\))?', text) %}
    {% if is_time %}
        {#- a number of the unit that it keeps, or the text that it is -#}
        {% set data_type = column.data_type if column.shape != 'any'
            else 'int' if modules.re.search('[0-3]', text) else 'bigint' %}
        {% set is_encoded = data_type and dbt_cdc._type_family(data_type) == 'integer' %}
    {% endif %}
    {% do return({
        'data_type': 'decimal(38,18)' if data_type == 'decimal' else data_type,
        'encoding': text if is_encoded else none, 'note': none,
    }) %}
{% endmacro %}


{% macro _check_tables_of(argument, names, found) %}
    {% for name in names or [] if name not in found %}
        {% do dbt_cdc.raise_cdc_error(
            22931, argument ~ " names table '" ~ name ~ "', of which nothing has landed",
            'there is ' ~ found | join(', ')
        ) %}
    {% endfor %}
{% endmacro %}


{#- What no look at the values tells has to be said, before anything is written. `tables`: the columns of each. -#}
{% macro _check_types_known(tables) %}
    {% set unknown, names = {}, [] %}
    {% for table, columns in tables.items() %}
        {% for column in columns if not column.data_type %}
            {% do unknown.setdefault(table, {}).update({column.name: 'decimal(p,s)'}) %}
        {% endfor %}
    {% endfor %}
    {% if unknown %}
        {% for table, columns in unknown.items() %}
            {% do names.append(table ~ ' (' ~ columns | join(', ') ~ ')') %}
        {% endfor %}
        {% do dbt_cdc.raise_cdc_error(
            22963, 'bytes in base64 do not tell what they are: ' ~ names | join(', '),
            "give the source's types, or binary, or string to keep the text: types: " ~ tojson(unknown)
        ) %}
    {% endif %}
{% endmacro %}


{#- Guesses are said; so is a type that is not the one of the table's other instance. -#}
{% macro _tell_of_types(table, columns) %}
    {% for column in columns if (column.note or '').startswith('guessed') or column.differs %}
        {% do dbt_cdc._log_line(table ~ '.' ~ column.name ~ ': ' ~ (column.encoding or column.data_type) ~ ', '
            ~ column.note ~ '; if it is not, say so by types') %}
    {% endfor %}
{% endmacro %}
