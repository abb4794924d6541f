{#- How the value of a column is read, by its type's family: the type that the JSON parser gives, the value
    made of it, and what shows that the value is not what the image says. -#}

{#- Decimals with room for more digits than the column has; what the parser does not know as texts. -#}
{% macro _parser_type(column) %}
    {% set data_type = column.data_type | lower | trim %}
    {% set family = dbt_cdc._type_family(data_type) %}
    {% if column.encodings or dbt_cdc._is_computed(column) %}
        {% do return('string') %}
    {% elif family == 'integer' %}
        {% do return('bigint' if data_type in ['bigint', 'long'] else 'int') %}
    {% elif family == 'decimal' %}
        {% do return('decimal(38,' ~ dbt_cdc._parser_scale(data_type) ~ ')') %}
    {% endif %}
    {% do return('boolean' if family == 'boolean' else 'string') %}
{% endmacro %}


{#- The places behind the point that the parser keeps: 18, which leaves 20 before it, where the column has
    at most 10; more or fewer where it needs them. -#}
{% macro _parser_scale(data_type) %}
    {% set precision, scale = dbt_cdc._type_size(data_type) or 10, dbt_cdc._type_size(data_type, 1) %}
    {% do return(18 if precision - scale <= 20 and scale <= 10 else 38 - (precision - scale)) %}
{% endmacro %}


{#- The value of a column out of `image`, a struct of what the parser has read; NULL where it has none. -#}
{% macro _value(column, image) -%}
    {%- set read = image ~ '.' ~ dbt_cdc._column(column.name) -%}
    {%- if dbt_cdc._is_computed(column) -%} cast(null as {{ column.data_type }})
    {%- elif not column.encodings -%} {{ dbt_cdc._plain_value(column, read) }}
    {%- elif column.encodings | length == 1 -%}
    {{ dbt_cdc._decoded_value(column, column.encodings[0], read) }}
    {%- else -%}
    case
        {%- for encoding in column.encodings %}
        when {{ dbt_cdc._has_encoding(encoding) }} then {{ dbt_cdc._decoded_value(column, encoding, read) }}
        {%- endfor %}
    end
    {%- endif -%}
{%- endmacro %}


{% macro _plain_value(column, read) -%}
    {%- set data_type = column.data_type | lower | trim -%}
    {%- set family = dbt_cdc._type_family(data_type) -%}
    {%- if family == 'text' and data_type.startswith('char') -%} rtrim({{ read }})
    {%- elif family in ['string', 'text'] or data_type == dbt_cdc._parser_type(column) -%} {{ read }}
    {%- elif family == 'binary' -%} try_to_binary({{ read }}, 'base64')
    {%- else -%} try_cast({{ read }} as {{ data_type }})
    {%- endif -%}
{%- endmacro %}


{#- Whether a column has the same value in `old` and `new`. Encoded texts are mostly equal as they stand. -#}
{% macro _is_same(column) -%}
    {%- set old, new = dbt_cdc._value(column, 'old'), dbt_cdc._value(column, 'new') -%}
    {%- set name = dbt_cdc._column(column.name) -%}
    {%- if dbt_cdc._is_computed(column) -%} true
    {%- elif column.encodings | length == 1 and column.encodings[0].get('scale') is not none -%}
    old.{{ name }} <=> new.{{ name }}
    {%- elif column.encodings -%}
    old.{{ name }} <=> new.{{ name }}
            or {{ old }} <=> {{ new }}
    {%- elif dbt_cdc._type_family(column.data_type) in ['float', 'binary', 'date', 'timestamp', 'text'] -%}
    {{ old }} <=> {{ new }}
    {%- else -%} old.{{ name }} <=> new.{{ name }}
    {%- endif -%}
{%- endmacro %}


{#- Whether `value`, made of what the parser has read of `image`, is not what `text` says: a list of
    conditions, of which one holds; empty where it always is. -#}
{% macro _misfits(column) %}
    {% set read, value = 'image.' ~ dbt_cdc._column(column.name), 'value.' ~ dbt_cdc._column(column.name) %}
    {% if dbt_cdc._is_computed(column) %}
        {% do return([]) %}
    {% endif %}
    {% set misfits = dbt_cdc._decoded_misfits(column, read, value) if column.encodings
        else dbt_cdc._plain_misfits(column, read, value) %}
    {% if dbt_cdc._type_family(column.data_type) == 'text' %}
        {% do misfits.append('char_length(' ~ value ~ ') > ' ~ dbt_cdc._type_size(column.data_type)) %}
    {% endif %}
    {% do return(misfits) %}
{% endmacro %}


{% macro _plain_misfits(column, read, value) %}
    {% set data_type = column.data_type | lower | trim %}
    {% set family = dbt_cdc._type_family(data_type) %}
    {% set misfits = [] %}
    {% if family in ['string', 'text'] %}
        {#- The parser writes numbers and nested values anew, 1.50 as 1.5: where the text has them otherwise, they
            are refused. -#}
        {% set written = 'concat(' ~ dbt_cdc._key_literal(column) ~ ', ' ~ read ~ ', ' %}
        {% do misfits.append(
            read ~ " rlike '" ~ '^(-?\\\\d+[.]|0$|"|[{\\\\[].*(\\\\d[.]\\\\d|"-?I))' ~ "'\n    and text rlike "
            ~ dbt_cdc._literal(dbt_cdc._key_pattern(column) ~ '(-?\\d+[.eE]|-0|[{\\[])')
            ~ '\n    and not contains(text, ' ~ written ~ "','))\n    and not contains(text, " ~ written ~ "'}'))") %}
    {% elif family in ['decimal', 'integer'] and data_type != dbt_cdc._parser_type(column) %}
        {% do misfits.append('not ' ~ read ~ ' <=> ' ~ value) %}
    {% elif family in ['binary', 'date', 'timestamp', 'float'] %}
        {% set is_lost = 'isnull(' ~ value ~ ') <> isnull(' ~ read ~ ')' %}
        {% set shapes = {
            'date': '^[-+]?\\d{4,}-\\d+-\\d+([T ][0:.]+Z?)?$',
            'timestamp': '^[-+]?\\d{4,}-\\d+-\\d',
            'float': '^([-+.0-9eE]+|-?Infinity|NaN)$',
        } %}
        {% if family == 'binary' %}
            {% do misfits.append(is_lost ~ ' or length(' ~ read ~ ') % 4 <> 0') %}
        {% else %}
            {% do misfits.append(
                is_lost ~ '\n    or not ' ~ read ~ ' rlike ' ~ dbt_cdc._literal(shapes[family])) %}
        {% endif %}
        {% if family == 'float' %}
            {% do misfits.append('abs(' ~ value ~ ") = double('infinity') and " ~ read ~ " rlike '\\\\d$'") %}
        {% endif %}
    {% endif %}
    {% if family == 'decimal' %}
        {% set scale = dbt_cdc._parser_scale(data_type) %}
        {#- The parser rounds what is behind its last place. With zeros or nines before it that does not show. -#}
        {% set is_shown = scale - dbt_cdc._type_size(data_type, 1) >= 8 %}
        {% set key = dbt_cdc._key_pattern(column) ~ '"?-?' %}
        {% do misfits.append(('is_long and ' if is_shown) ~ 'text rlike '
            ~ dbt_cdc._literal(key ~ '\\d*[.]\\d{' ~ scale ~ '}\\d*[1-9]')) %}
        {% do misfits.append(('is_long and ' if is_shown)
            ~ 'length(regexp_extract(text, ' ~ dbt_cdc._literal(key ~ '\\d*[.]?(\\d*)[eE]-') ~ ', 1))'
            ~ '\n    + int(0 || regexp_extract(text, '
            ~ dbt_cdc._literal(key ~ '[\\d.]*[eE]-(\\d{1,9})') ~ ', 1)) > ' ~ scale) %}
    {% endif %}
    {% do return(misfits) %}
{% endmacro %}


{#- What an error says of a column's values beside its type. -#}
{% macro _spelling_of(column) %}
    {% if column.encodings %}
        {% set names = [] %}
        {% for encoding in column.encodings %}
            {% do names.append((encoding.name or 'plain text')
                ~ (' in ' ~ encoding.unit if encoding.unit)
                ~ (' of scale ' ~ encoding.scale if encoding.scale is not none and encoding.name == 'decimal')) %}
        {% endfor %}
        {% do return(', encoded as ' ~ names | join(' or ') ~ ' (meta.source_type, or types of the adapter)') %}
    {% elif dbt_cdc._type_family(column.data_type) in ['string', 'text'] %}
        {% do return(', which takes a number like 1.50 or 1e5, also a nested one, as JSON strings only') %}
    {% endif %}
    {% do return('') %}
{% endmacro %}


{#- The key of a column, and what is before its value. In a string quotes are escaped. -#}
{% macro _key_pattern(column) -%}
    {%- set keys = [] -%}
    {%- for key in [tojson(column.name), '"' ~ column.name ~ '"'] | unique -%}
        {%- do keys.append(modules.re.escape(key)) -%}
    {%- endfor -%}
    {{ keys[0] if keys | length == 1 else '(' ~ keys | join('|') ~ ')' }}\s*:\s*
{%- endmacro %}


{#- The same as it is mostly written, a SQL literal. -#}
{% macro _key_literal(column) %}
    {% do return(dbt_cdc._literal(
        '"' ~ column.name.replace('\\', '\\\\').replace('"', '\\"') ~ '":')) %}
{% endmacro %}


{#- The columns of some families of types. -#}
{% macro _columns_of(columns, families) %}
    {% set found = [] %}
    {% for column in columns if dbt_cdc._type_family(column.data_type) in families %}
        {% do found.append(column) %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}
