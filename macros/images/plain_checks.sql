{#- What shows that a value without an encoding is not what its text says. -#}

{#- Whether nothing could be made of what is there; a date or timestamp that is an infinity is nothing. -#}
{% macro _is_lost(column, read, value) -%}
    {%- if dbt_cdc._type_family(column.data_type) in ['date', 'timestamp'] -%}
coalesce({{ dbt_cdc._is_infinite(value) }}, true) <> isnull({{ read }})
    {%- else -%} isnull({{ value }}) <> isnull({{ read }})
    {%- endif -%}
{%- endmacro %}


{#- Whether a date or timestamp is out of reach of any that is meant: PostgreSQL's infinities come as years from 290308
    on. -#}
{% macro _is_infinite(time) -%}
abs(year({{ time }})) > 99999
{%- endmacro %}


{% macro _plain_misfits(column, read, value) %}
    {% set data_type = column.data_type | lower | trim %}
    {% set family = dbt_cdc._type_family(data_type) %}
    {% set misfits = [] %}
    {% if family in ['string', 'text'] %}
        {#- The parser writes numbers and nested values anew, 1.50 as 1.5: they are refused where the text has them
            otherwise, or once more. Most values match the first pattern where they begin. -#}
        {#- the key as it is mostly written -#}
        {% set written = dbt_cdc._literal(
            '"' ~ column.name.replace('\\', '\\\\').replace('"', '\\"') ~ '":') ~ ' || ' ~ read %}
        {% do misfits.append(
            'not ' ~ read ~ (' ' if read | length < 20 else '\n        ')
            ~ "rlike '" ~ '^(?s)(?!-?\\\\d+[.]|0$|"|[{\\\\[].*(\\\\d[.]\\\\d|"(NaN|-?Infi)))' ~ "'"
            ~ '\n    and replace(text, ' ~ written ~ ", '\\Z')\n        rlike "
            ~ dbt_cdc._literal('\\x1a[^,}\\s]|' ~ dbt_cdc._key_pattern(column) ~ '(-?\\d+[.eE]|-0|[-+]?[{\\[NI])')) %}
        {% set name = dbt_cdc._name_pattern(column) %}
        {% do misfits.append("array_contains(halves, '" ~ name ~ "')" if name == modules.re.escape(column.name)
            and '\\' not in name else 'exists(halves, key -> key rlike ' ~ dbt_cdc._literal('^' ~ name ~ '\\z') ~ ')') %}
    {% elif family in ['decimal', 'integer'] and data_type != dbt_cdc._parser_type(column) %}
        {% do misfits.append('not ' ~ read ~ ' <=> ' ~ value) %}
    {% elif family == 'float' and not column.encodings %}
        {#- What no number in JSON is, NaN and Infinity, comes in quotes; a number too large gives Infinity, too. -#}
        {% do misfits.append('isnan(' ~ value ~ ' - ' ~ value ~ ') and text rlike '
            ~ dbt_cdc._literal(dbt_cdc._key_pattern(column) ~ '[^"\\s]')) %}
    {% elif family in ['binary', 'date', 'timestamp', 'float'] %}
        {% do misfits.append(dbt_cdc._is_lost(column, read, value)) %}
        {% do misfits.append('length(' ~ read ~ ') % 4 <> 0' if family == 'binary' else 'not ' ~ read ~ ' rlike '
            ~ dbt_cdc._literal('^([-+.0-9eE]+|-?Infinity|NaN)\\z' if family == 'float'
                else dbt_cdc._time_pattern(family))) %}
        {% do misfits.append('isnan(' ~ value ~ ' - ' ~ value ~ ') and ' ~ read ~ " rlike '\\\\d$'")
            if family == 'float' %}
    {% endif %}
    {% if family == 'decimal' %}
        {% do misfits.append(dbt_cdc._rounded_misfit(column, read)) %}
    {% elif data_type in ['float', 'real'] %}
        {% do misfits.append(dbt_cdc._rounded_float_misfit(
            value, 'try_cast(' ~ read ~ ' as double)' if column.encodings else read)) %}
    {% elif data_type == 'double' %}
        {% do misfits.append(dbt_cdc._rounded_double_misfit(column, read, value)) %}
    {% endif %}
    {% do return(misfits) %}
{% endmacro %}


{#- What the text of a date or a timestamp looks like: a cast also takes years, months and times of day for one. -#}
{% macro _time_pattern(name) %}
    {% do return('^[-+]?\\d{4,}-\\d+-\\d' ~ ('+([T ][-+ 0:.]+Z?|Z)?\\z' if name == 'date' else '')) %}
{% endmacro %}


{#- What shows that a number has more digits than 32 bits hold: it is not theirs, also as Java and PostgreSQL write it
    (between two texts the even one), or with 6 to 9 digits, or with fewer near 0, where they hold fewer. -#}
{% macro _rounded_float_misfit(value, number) -%}
    {%- set held = 'cast(' ~ value ~ ' as double)' -%}
    {%- set texts = ['cast(cast(' ~ value ~ ' as string) as double)'] -%}
    {%- for places in [5, 6, 7, 8, 0, 1, 2, 3, 4] -%}
        {%- do texts.append("cast(format_string('%." ~ places ~ "e', " ~ held ~ ') as double)') -%}
    {%- endfor -%}
coalesce({{ held }} <> {{ number }} and {{ number }} not in (
        {{ texts | join(',\n        ') }}
    ), false)
{%- endmacro %}


{#- The same of 64 bits: more than 17 digits; or a whole number of more than 16, or of 16 with no zeros behind them,
    that is neither theirs nor written as they mostly are, with zeros behind the digits that tell them. -#}
{% macro _rounded_double_misfit(column, read, value) -%}
    {%- set text, key, end = (read, '^-?', '\\z') if column.encodings
        else ('text', dbt_cdc._key_pattern(column) ~ '-?', '(?=[,}\\s])') -%}
    {%- set sign = key[:-2] ~ '(-?' -%}
{{ 'has_digits and ' if not column.encodings }}({{ text }} rlike {{ dbt_cdc._literal(key) }}
        || {{ dbt_cdc._literal('(\\d{39}|(?=\\d+[.eE])[0.]*[1-9]([.]?\\d){16,}[.]?[1-9])') }}
    or try_cast(regexp_extract({{ text }}, {{ dbt_cdc._literal(sign) }}
        || {{ dbt_cdc._literal('[1-9]\\d{14}(?:[1-9]|\\d+[1-9]0*))([.]0*)?' ~ end) }}, 1
    ) as decimal(38,0)) not in (
        coalesce(try_cast({{ value }} as decimal(38,0)), 0),
        coalesce(nullif(try_cast({{ value }} as bigint), 9223372036854775807), 0)
    ))
{%- endmacro %}


{#- What shows that the parser has rounded a decimal, behind its last place. Where the column has fewer places, it
    shows in the value but behind a run of zeros or nines, seven of which are on one side of the point where there are
    fourteen; and where an exponent has made it 0. -#}
{% macro _rounded_misfit(column, read) -%}
    {%- set data_type = column.data_type | lower | trim -%}
    {%- set scale, places = dbt_cdc._parser_scale(data_type), dbt_cdc._type_size(data_type, 1) -%}
    {%- set key = dbt_cdc._key_pattern(column) ~ '"?-?' -%}
    {%- set rounded, exponent = '\\d*[.]\\d{' ~ scale ~ '}\\d*[1-9]', '[\\d.]*[1-9][\\d.]*[eE]-' -%}
    {%- if scale - places >= 14 -%}
        {#- so short that no digit can be lost, as Java's 5.0E-4 -#}
        {%- set exact = '[^-]{1,' ~ (scale - 7) ~ '}-\\d\\D' -%}
(has_run or {{ read }} = 0) and text rlike {{ dbt_cdc._literal(key) }}
    || {{ dbt_cdc._literal('(' ~ rounded ~ '|(?!' ~ exact ~ ')' ~ exponent ~ ')') }}
    {%- else -%}
        {%- set gap = ' ' if key | length < 20 else '\n        ' -%}
{{ 'is_long and ' if scale - places >= 8 }}(text rlike {{ dbt_cdc._literal(key ~ rounded) }}
    or length(regexp_extract(text,{{ gap }}{{ dbt_cdc._literal(key ~ '\\d*[.]?(\\d*?)0*[eE]-') }}, 1))
    + int(0 || regexp_extract(text,{{ gap }}{{ dbt_cdc._literal(key ~ exponent ~ '(\\d{1,9})') }}, 1)) > {{ scale }})
    {%- endif -%}
{%- endmacro %}


{#- The key of a column, and what is before its value. -#}
{% macro _key_pattern(column) -%}
    "{{ dbt_cdc._name_pattern(column) }}"\s*:\s*
{%- endmacro %}


{#- A column's name as a key has it; what is no ASCII, and some signs, writers also escape. Tabs, line breaks and their
    like they have to. -#}
{% macro _name_pattern(column) -%}
    {%- for sign in column.name -%}
        {%- if sign in '"\\/&<>+=\'`' or sign < ' ' or sign > '~' -%}
            {%- set short = {'"': '\\"', '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r', '\b': '\\b', '\f': '\\f'}
                .get(sign, sign) -%}
            {%- set escaped = sign.encode('utf-16-be').hex() | batch(4) | map('join') | join('\\\\u') -%}
            (?:{{ modules.re.escape(short) }}|{{ '\\\\/|' if sign == '/' }}(?i:\\u{{ escaped }}))
        {%- else -%}
            {{ modules.re.escape(sign) }}
        {%- endif -%}
    {%- endfor -%}
{%- endmacro %}
