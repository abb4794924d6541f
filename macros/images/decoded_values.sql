{#- What the values of an encoded column stand for; which encoding a column has, encodings.sql says. -#}

{#- What a text `read` stands for. An encoding is known here, in `_undecodable` below, and nowhere else. -#}
{% macro _decoded(encoding, read, data_type) -%}
    {%- if encoding.name == 'date' -%}
coalesce({{ dbt_cdc._time_of_number(encoding, read) }},
    try_cast(rtrim('Z', {{ read }}) as date))
    {%- elif encoding.name == 'timestamp' -%}
coalesce({{ dbt_cdc._time_of_number(encoding, read) }},
    try_cast({{ read }} as timestamp))
    {%- elif encoding.name == 'time' -%}
        {%- set number = 'try_cast(' ~ read ~ ' as bigint)' -%}
        {%- set factor = 1000 ** (encoding.steps | abs) -%}
try_cast({{ 'try_multiply(' ~ number ~ ', ' ~ factor ~ ')' if encoding.steps > 0
    else number ~ ' div ' ~ factor }} as {{ data_type }})
    {%- elif encoding.name == 'binary(hex)' -%}
        try_to_binary({{ read }}, 'hex')
    {%- elif encoding.name == 'decimal' -%}
        {%- set exponent = "'E" ~ -encoding.scale ~ "'" if encoding.scale is not none
            else "'E', -try_cast(get_json_object(" ~ read ~ ", '$.scale') as int)" -%}
try_cast(concat({{ dbt_cdc._unscaled(dbt_cdc._unscaled_text(encoding, read), encoding.bytes) }},
    {{ exponent }}) as {{ data_type }})
    {%- endif -%}
{%- endmacro %}


{#- A time that comes as a number; NULL where it comes as a text. An infinity in nanoseconds is one in microseconds. -#}
{% macro _time_of_number(encoding, read) -%}
    {%- set number = 'try_cast(' ~ read ~ ' as bigint)' -%}
    {%- set is_infinity = read ~ " in ('9223372036854775807', '-9223372036854775808')" -%}
    {%- set micros = number ~ ' div 1000 - if(' ~ number ~ ' % 1000 < 0, 1, 0)' -%}
    {{ {
        none: 'date_from_unix_date(try_cast(' ~ read ~ ' as int))',
        'ms': 'timestamp_micros(try_multiply(' ~ number ~ ', 1000))',
        'us': 'timestamp_micros(' ~ number ~ ')',
        'ns': 'timestamp_micros(if(' ~ is_infinity ~ ', ' ~ number ~ ', ' ~ micros ~ '))',
        '100ns': 'timestamp_micros(case when ' ~ is_infinity ~ ' then ' ~ number ~ '\n    when ' ~ number
            ~ ' % 100 = 0 then ' ~ micros ~ '\n    else ' ~ dbt_cdc._micros_of_wrapped(number) ~ ' end)',
    }[encoding.unit or none] }}
{%- endmacro %}


{#- Microseconds of a time in steps of 100 nanoseconds that a number of 64 bits does not reach, as of SQL Server's
    9999-12-31. The connector wraps it (https://github.com/debezium/dbz/issues/2075). As 2^64 leaves 16 by 100, the last
    digits tell how often it went round; NULL where no year from 1 to 9999 has them. -#}
{% macro _micros_of_wrapped(number) -%}
    {%- set rounds = dbt_cdc._rounds_of_wrapped(number) -%}
if({{ number }} % 4 = 0 and {{ rounds }} between -3 and 14,
        cast(floor((cast({{ number }} as decimal(20, 0)) + {{ rounds }} * 18446744073709551616)
            / 1000) as bigint), null)
{%- endmacro %}


{% macro _rounds_of_wrapped(number) -%}
    (pmod(6 * (pmod({{ number }}, 100) div 4) + 10, 25) - 10)
{%- endmacro %}


{#- The digits of a time behind its microseconds, for a text; none where they are zeros. 2^64 leaves 616 by 1,000. -#}
{% macro _nanos_of_number(encoding, read) %}
    {% set number = 'try_cast(' ~ read ~ ' as bigint)' %}
    {% set digits = {
        'ns': 'pmod(' ~ number ~ ', 1000)',
        '100ns': 'pmod(pmod(' ~ number ~ ', 1000) + if(' ~ number ~ ' % 100 = 0, 0, 616 * '
            ~ dbt_cdc._rounds_of_wrapped(number) ~ '), 1000)',
    }.get(encoding.unit) %}
    {% do return("replace(lpad(string(" ~ digits ~ "), 3, '0'), '000', '')" if digits) %}
{% endmacro %}


{#- What shows that a text stands for nothing, beside no value. -#}
{% macro _undecodable(encoding, read, data_type) %}
    {% if encoding.name == 'binary(hex)' %}
        {% do return(['length(' ~ read ~ ') % 2 <> 0']) %}
    {% elif encoding.name == 'decimal' %}
        {#- Of up to `bytes` bytes, and no more than the number needs, so that equal texts are equal numbers. -#}
        {% set tests = ['not ' ~ dbt_cdc._unscaled_text(encoding, read)
            ~ " rlike '^(?=(.{4}){1," ~ ('2}$|.{11}=$' if encoding.bytes == 8 else '5}$|.{22}==$')
            ~ ")(?!A[A-H](?!==$)|/[4-9+/])[\\\\w+/]+={0,2}\\\\z'"] %}
        {% if encoding.scale is none %}
            {#- places behind the last one are good if they are zeros -#}
            {% set scale = 'try_cast(get_json_object(' ~ read ~ ", '$.scale') as int)" %}
            {% set places = dbt_cdc._type_size(data_type, 1) %}
            {% do tests.append(scale ~ ' > ' ~ places ~ '\n    and not string('
                ~ dbt_cdc._unscaled(dbt_cdc._unscaled_text(encoding, read), encoding.bytes)
                ~ ")\n    rlike concat('^0$|0{', " ~ scale ~ ' - ' ~ places ~ ", '}$')") %}
            {% do tests.append(read ~ " rlike '\"value\"\\\\s*:\\\\s*\\\\d'") %}
        {% endif %}
        {% do return(tests) %}
    {% elif encoding.name == 'time' and encoding.steps < 0 %}
        {% do return(['try_cast(' ~ read ~ ' as bigint) % ' ~ 1000 ** -encoding.steps ~ ' <> 0']) %}
    {% elif encoding.name in ['date', 'timestamp'] %}
        {% do return(['isnull(try_cast(' ~ read ~ ' as bigint)) and not ' ~ read ~ ' rlike '
            ~ dbt_cdc._literal(dbt_cdc._time_pattern(encoding.name))]) %}
    {% endif %}
    {% do return([]) %}
{% endmacro %}


{#- A decimal's bytes; where each value has a scale of its own, they are in an object beside it. -#}
{% macro _unscaled_text(encoding, read) %}
    {% do return(read if encoding.scale is not none else 'get_json_object(' ~ read ~ ", '$.value')") %}
{% endmacro %}


{#- The number of a two's complement in base64. Its first character tells the sign. -#}
{% macro _unscaled(text, bytes) -%}
    {%- set is_positive = text ~ " >= 'A' and " ~ text ~ " < 'g'" -%}
    {%- set hex = 'lpad(hex(try_to_binary(' ~ text ~ ", 'base64')), " ~ bytes * 2
        ~ ',\n    if(' ~ is_positive ~ ", '0', 'F'))" -%}
    {%- if bytes == 8 -%}
conv({{ hex }}, 16, -10)
    {%- else -%}
try_add(
    try_multiply(
        cast(conv(left({{ dbt_cdc._indent(hex, 8) }}, 16), 16, -10) as decimal(20, 0))
            + if({{ is_positive }}, 0, 1),
        18446744073709551616
    ),
    cast(conv(right({{ dbt_cdc._indent(hex, 4) }}, 16), 16, 10) as decimal(20, 0))
        - if({{ is_positive }}, 0, 18446744073709551616)
)
    {%- endif -%}
{%- endmacro %}


{#- The type of what a text stands for: the column's own where that loses nothing. -#}
{% macro _decoded_type(column, encoding) %}
    {% set data_type = column.data_type | lower | trim %}
    {% do return({'date': 'date', 'timestamp': 'timestamp', 'binary(hex)': 'binary'}.get(encoding.name, data_type))
        if encoding.name != 'decimal' %}
    {% set is_decimal = dbt_cdc._type_family(data_type) == 'decimal' %}
    {% if is_decimal and encoding.scale is not none and encoding.scale <= dbt_cdc._type_size(data_type, 1) %}
        {% do return(data_type) %}
    {% elif encoding.scale is none %}
        {% do return('decimal(38,' ~ (dbt_cdc._parser_scale(data_type) if is_decimal else 18) ~ ')') %}
    {% endif %}
    {% do return('decimal(38,' ~ [encoding.scale, 0] | max ~ ')') %}
{% endmacro %}


{#- The value of a column out of a text; a text column gets numbers as the canonical log spells them. -#}
{% macro _decoded_value(column, encoding, read) -%}
    {%- set data_type, family = column.data_type | lower | trim, dbt_cdc._type_family(column.data_type) -%}
    {%- set type = dbt_cdc._decoded_type(column, encoding) -%}
    {%- set decoded = dbt_cdc._decoded(encoding, read, type) -%}
    {%- if encoding.name in [none, 'text'] -%}
        {{ dbt_cdc._plain_value(column, read) }}
    {%- elif family in ['string', 'text'] -%}
        {%- if encoding.name in ['date', 'timestamp'] -%}
            {%- set time = dbt_cdc._time_of_number(encoding, read) -%}
            case when {{ dbt_cdc._is_infinite(time) }} then if({{ read }} like '-%', '-infinity', 'infinity')
            else coalesce({{ 'cast(' ~ time ~ ' as string)' if encoding.name == 'date'
                else dbt_cdc._time_with_micros(time, dbt_cdc._nanos_of_number(encoding, read)) }}, {{ read }}) end
        {%- elif encoding.name == 'decimal' -%}
            {%- set scale = encoding.scale if encoding.scale is not none else 18 -%}
            format_number({{ decoded }}, '0{{ '.' ~ '0' * scale if scale > 0 }}')
        {%- else -%} replace(base64({{ decoded }}), '\r\n', '')
        {%- endif -%}
    {%- elif type == data_type -%} {{ decoded }}
    {%- elif encoding.name == 'date' -%}
try_cast(if({{ dbt_cdc._is_infinite(decoded) }}, null, {{ decoded }}) as {{ data_type }})
    {%- else -%} try_cast({{ decoded }} as {{ data_type }})
    {%- endif -%}
{%- endmacro %}


{#- What shows that the value of an encoded column is not what the image says. -#}
{% macro _decoded_misfits(column, read, value) %}
    {% set family = dbt_cdc._type_family(column.data_type) %}
    {% set misfits = [dbt_cdc._is_lost(column, read, value)] %}
    {% for encoding in column.encodings %}
        {% set type = dbt_cdc._decoded_type(column, encoding) %}
        {% set is_kept = encoding.name in ['date', 'timestamp'] and family in ['string', 'text'] %}
        {% set tests = [] if is_kept else dbt_cdc._undecodable(encoding, read, type) %}
        {% if encoding.name == 'text' or encoding.scale is not none and encoding.name == 'decimal' %}
            {#- The parser writes a number that is not in quotes anew; one of digits alone looks like base64. -#}
            {% do tests.append(('isnotnull(' ~ read ~ ')' if encoding.name == 'text'
                else read ~ " rlike '^\\\\d+$'") ~ ' and text rlike '
                ~ dbt_cdc._literal(dbt_cdc._key_pattern(column) ~ '[^"\\s]')) %}
        {% endif %}
        {% if encoding.name in [none, 'text'] and family in ['decimal', 'integer'] %}
            {% do tests.append('not try_cast(' ~ read ~ ' as decimal(38,'
                ~ dbt_cdc._parser_scale(column.data_type) ~ ')) <=> ' ~ value) %}
            {% do tests.append(dbt_cdc._rounded_misfit(column, value)) if family == 'decimal' %}
            {#- as above: as a double, which holds 15 digits; a number of digits alone it keeps -#}
            {% do tests.append('text rlike ' ~ dbt_cdc._literal(dbt_cdc._key_pattern(column)
                ~ '-?(?=\\d+[.eE])([.]?\\d){16}')) if family == 'decimal' and encoding.name is none %}
        {% elif encoding.name in [none, 'text'] %}
            {% do tests.extend(dbt_cdc._plain_misfits(column, read, value)) %}
        {% elif is_kept %}
            {% do tests.extend(dbt_cdc._plain_misfits(column, read, value)) %}
            {% do tests.append(read ~ " rlike '^-?[0-9]+$' and " ~ value ~ ' = ' ~ read) %}
        {% elif encoding.name == 'decimal' and family == 'float' %}
            {% set number = dbt_cdc._decoded(encoding, read, type) %}
            {% do tests.append(dbt_cdc._rounded_double_misfit(column, 'string(' ~ number ~ ')', value)
                if column.data_type | lower | trim == 'double'
                else dbt_cdc._rounded_float_misfit(value, 'cast(' ~ number ~ ' as double)')) %}
        {% elif encoding.name != 'date' and family not in ['string', 'text', 'float']
            and type != column.data_type | lower | trim %}
            {% do tests.append('not ' ~ dbt_cdc._decoded(encoding, read, type) ~ ' <=> ' ~ value) %}
        {% endif %}
        {% for test in tests %}
            {% do misfits.append(
                test if column.encodings | length == 1
                else dbt_cdc._has_encoding(encoding) ~ ' and (' ~ test ~ ')'
            ) %}
        {% endfor %}
    {% endfor %}
    {% do return(misfits) %}
{% endmacro %}


{#- Without a pattern: with spark.sql.legacy.timeParserPolicy=LEGACY one of six digits shows milliseconds. -#}
{% macro _time_with_micros(time, nanos=none) %}
    {% do return("concat(replace(substring_index(cast(" ~ time ~ " as string), '.', 1), ' ', 'T'), '.', "
        ~ "lpad(cast(pmod(unix_micros(" ~ time ~ "), 1000000) as string), 6, '0')"
        ~ (', ' ~ nanos if nanos else '') ~ ')') %}
{% endmacro %}
