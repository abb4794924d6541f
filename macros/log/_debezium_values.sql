{#- SQL that makes the log's text of a column's text `value`, which is encoded as
    `encoding` {name, scale}; null where it is no such value. -#}
{% macro _debezium_decode() -%}
    case
        when encoding.name = 'decimal'
            then {{ dbt_cdc._debezium_decimal() | indent(8) }}
        when encoding.name = 'decimal text'
            then {{ dbt_cdc._debezium_decimal_text() | indent(8) }}
        when encoding.name = 'hex'
            then replace(base64(unhex(value)), '\r\n', '')
        when encoding.name = 'base64'
            then value
        when encoding.name = 'date'
            then if(value rlike '^-?[0-9]+$',
                cast(date_from_unix_date(cast(value as int)) as string),
                trim(trailing 'Z' from value)
            )
        when encoding.name like 'timestamp%' and value rlike '^-?[0-9]+$'
            then date_format(
                timestamp_micros({{ dbt_cdc._debezium_micros() | indent(12) }}),
                {{ dbt_cdc._debezium_time_format() }}
            )
        when encoding.name = 'timestamp without zone'
            then trim(trailing 'Z' from {{ dbt_cdc._debezium_iso_time() | indent(8) }})
        when encoding.name like 'timestamp%'
            then {{ dbt_cdc._debezium_iso_time() | indent(8) }}
    end
{%- endmacro %}


{% macro _debezium_micros() -%}
    case encoding.name
        when 'timestamp in ms' then cast(value as bigint) * 1000
        when 'timestamp in us' then cast(value as bigint)
        when 'timestamp in ns'
            then (cast(value as bigint) - pmod(cast(value as bigint), 1000)) div 1000
    end
{%- endmacro %}


{% macro _debezium_time_format() -%}
    "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"
{%- endmacro %}


{#- ISO text with six digits; an offset becomes Z. What is no time (infinity) stays as it is. -#}
{% macro _debezium_iso_time() -%}
    case
        when value like '____-__-__T__:__:__.______Z'
            then value
        when value rlike '^.{10}T[0-9:]+([.][0-9]+)?Z?$'
            then concat(
                regexp_extract(value, '^[^.Z]+', 0), '.',
                left(rpad(regexp_extract(value, '[.]([0-9]+)', 1), 6, '0'), 6),
                regexp_extract(value, 'Z$', 0)
            )
        when value rlike '^.{10}T[0-9:]+([.][0-9]+)?[+-][0-9]{2}:[0-9]{2}$'
            then date_format(cast(value as timestamp), {{ dbt_cdc._debezium_time_format() }}) || 'Z'
        else value
    end
{%- endmacro %}


{#- Base64 of an unscaled two's complement, up to 38 digits; VariableScaleDecimal is an object of it
    and the scale. Of a negative number all bits are turned: its absolute value is one more.
    Arrays of one element name what is used repeatedly. -#}
{% macro _debezium_decimal() -%}
    get(transform(filter(
        array(if(startswith(value, '{'),
            from_json(value, 'struct<value: string, scale: int>'),
            named_struct('value', value, 'scale', encoding.scale)
        )),
        number -> length(number.value) <= 24 and number.value
            rlike '^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$'
    ), number -> transform(transform(transform(
        array(hex(unbase64(number.value))),
        bytes -> struct(
            bytes >= '8' as is_negative,
            lpad(
                if(bytes >= '8', translate(bytes, '0123456789ABCDEF', 'FEDCBA9876543210'), bytes),
                32, '0'
            ) as bits
        )),
        part -> struct(part.is_negative, cast(
            cast(conv(left(part.bits, 16), 16, 10) as decimal(20, 0)) * 18446744073709551616
            + cast(conv(right(part.bits, 16), 16, 10) as decimal(20, 0))
            + if(part.is_negative, 1, 0) as string
        ) as digits)),
        part -> concat(
            if(part.is_negative, '-', ''),
            {{ dbt_cdc._debezium_place_point('part.digits', 'number.scale') | indent(8) }}
        )
    )[0]), 0)
{%- endmacro %}


{#- A decimal's text without its exponent: 0E-18, 1.23E-7, 1E+3. -#}
{% macro _debezium_decimal_text() -%}
    case
        when value rlike '^-?[0-9]+([.][0-9]+)?[eE][+-]?[0-9]+$'
            then transform(array(struct(
                regexp_replace(regexp_extract(value, '[0-9.]+', 0), '[.]', '') as digits,
                length(regexp_extract(value, '[.]([0-9]+)', 1))
                - cast(regexp_extract(value, '[eE][+]?(.*)$', 1) as int) as scale
            )), number -> concat(
                if(value like '-%', '-', ''),
                {{ dbt_cdc._debezium_place_point('number.digits', 'number.scale') | indent(12) }}
            ))[0]
        else value
    end
{%- endmacro %}


{% macro _debezium_place_point(digits, scale) -%}
    case
        when {{ scale }} > 0
            then concat(
                substr({{ digits }}, 1, greatest(length({{ digits }}) - {{ scale }}, 0)),
                if(length({{ digits }}) <= {{ scale }}, '0', ''),
                '.', lpad(right({{ digits }}, {{ scale }}), {{ scale }}, '0')
            )
        when {{ digits }} = '0'
            then '0'
        else concat({{ digits }}, repeat('0', -{{ scale }}))
    end
{%- endmacro %}


{% macro _debezium_unavailable() -%}
    '__debezium_unavailable_value'
{%- endmacro %}


{% macro _debezium_literals(texts) -%}
    {%- for text in texts -%}
        {{ dbt_cdc._literal(text) }}{{ ', ' if not loop.last }}
    {%- endfor -%}
{%- endmacro %}
