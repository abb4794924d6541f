{#- Reading typed values out of a JSON image. The image is parsed once, into text, and every value
    is cast with a check: NULL out of text that is there means that the text does not fit. -#}

{#- Which rules a type follows. -#}
{% macro _type_family(data_type) %}
    {% set base = modules.re.sub('\\s*\\(.*', '', data_type | lower | trim) %}
    {% set families = {
        'boolean': 'boolean',
        'tinyint': 'integer', 'byte': 'integer', 'smallint': 'integer', 'short': 'integer',
        'int': 'integer', 'integer': 'integer', 'bigint': 'integer', 'long': 'integer',
        'float': 'float', 'real': 'float', 'double': 'float',
        'decimal': 'decimal', 'dec': 'decimal', 'numeric': 'decimal',
        'string': 'string', 'varchar': 'text', 'char': 'text', 'character': 'text',
        'binary': 'binary', 'date': 'date',
        'timestamp': 'timestamp', 'timestamp_ltz': 'timestamp', 'timestamp_ntz': 'timestamp',
    } %}
    {% if base not in families %}
        {% do dbt_cdc.raise_cdc_error(
            22942, "data type '" ~ data_type ~ "' cannot be captured",
            'use one of ' ~ families | join(', ') ~ '; nested values as string keep their JSON text'
        ) %}
    {% endif %}
    {% do return(families[base]) %}
{% endmacro %}


{#- The value of `text` (SQL) as `data_type`; NULL where it does not fit. -#}
{% macro _read_value(text, data_type) -%}
    {{- dbt_cdc['_read_' ~ dbt_cdc._type_family(data_type)](text, data_type | lower) -}}
{%- endmacro %}


{% macro _read_string(text, data_type) -%} {{ text }} {%- endmacro %}


{% macro _read_text(text, data_type) -%}
    {%- set length = modules.re.search('\\d+', data_type).group(0) -%}
    {%- set value = 'rtrim(' ~ text ~ ')' if data_type.startswith('char') else text -%}
    case when char_length({{ value }}) <= {{ length }} then {{ value }} end
{%- endmacro %}


{% macro _read_boolean(text, data_type) -%} try_cast({{ text }} as boolean) {%- endmacro %}


{% macro _read_binary(text, data_type) -%} try_to_binary({{ text }}, 'base64') {%- endmacro %}


{#- 12, "12", 12.0 and 1.2e1; nothing with a fraction. -#}
{% macro _read_integer(text, data_type) -%}
    coalesce(try_cast({{ text }} as {{ data_type }}), case
        when {{ text }} rlike '^[-+]?[0-9]+[.]0*$'
            then try_cast(substring_index({{ text }}, '.', 1) as {{ data_type }})
        when {{ text }} rlike '^[-+]?[0-9]+([.][0-9]{0,18})?[eE][+]?[0-9]+$'
            then try_cast(if(try_cast({{ text }} as decimal(38, 18)) = 0, '0', regexp_extract(
                cast(try_cast({{ text }} as decimal(38, 18)) as string), '^(.*)[.]0*$', 1
            )) as {{ data_type }})
    end)
{%- endmacro %}


{#- Digits that the scale would lose do not fit; zeros at the end do. -#}
{% macro _read_decimal(text, data_type) -%}
    {%- set digits = modules.re.findall('\\d+', data_type) -%}
    {%- set scale = digits[1] | int if digits | length > 1 else 0 -%}
    case
        when locate('.', {{ text }}) + locate('e', {{ text }}) + locate('E', {{ text }}) = 0
            or {{ text }} rlike '^[-+]?[0-9]*[.]?[0-9]{0,{{ scale }}}0*$'
            then try_cast({{ text }} as {{ data_type }})
        when {{ text }} rlike '^[-+]?[0-9]*[.]?[0-9]*[eE][-+]?[0-9]{1,3}$'
            and length(rtrim('0', regexp_extract({{ text }}, '[.]([0-9]*)[eE]', 1)))
            - cast(regexp_extract({{ text }}, '[eE]([-+]?[0-9]+)$', 1) as int) <= {{ scale }}
            then try_cast({{ text }} as {{ data_type }})
    end
{%- endmacro %}


{#- Finite text gives a finite number; NaN and the infinities are written out. -#}
{% macro _read_float(text, data_type) -%}
    case
        when substr({{ text }}, -1) <= '9' then nullif(nullif(
            try_cast({{ text }} as {{ data_type }}), {{ data_type }}('Infinity')
        ), {{ data_type }}('-Infinity'))
        when lower({{ text }}) in ('nan', 'infinity', '+infinity', '-infinity', 'inf', '-inf', '+inf')
            then try_cast({{ text }} as {{ data_type }})
    end
{%- endmacro %}


{% macro _read_date(text, data_type) -%}
    case
        when {{ text }} rlike '^[-+]?[0-9]{4,7}-[0-9]{2}-[0-9]{2}([T ]00:00(:00([.]0*)?)?)?Z?$'
            then try_cast(regexp_extract({{ text }}, '^[^T Z]*', 0) as date)
    end
{%- endmacro %}


{#- Text without a zone is UTC, as the session is; a time of day alone is no timestamp. -#}
{% macro _read_timestamp(text, data_type) -%}
    case
        when substr({{ text }}, 5, 1) = '-' or {{ text }} rlike '^[-+]?[0-9]{4,7}-[0-9]{2}-[0-9]{2}'
            then try_cast({{ text }} as {{ data_type }})
    end
{%- endmacro %}


{#- JSON numbers with a fraction or an exponent pass through double on their way to text. Where
    that would lose digits (decimal, bigint) or their spelling (string), they are quoted first. Inside a JSON string a quote is always escaped, so the pattern matches keys only. -#}
{% macro _exact_image(image, columns) -%}
    {%- set keys = [] -%}
    {%- for column in columns
        if dbt_cdc._type_family(column.data_type) in ['decimal', 'string', 'text']
            or column.data_type | lower in ['bigint', 'long'] -%}
        {%- for key in [tojson(column.name), '"' ~ column.name ~ '"'] | unique -%}
            {%- do keys.append(modules.re.escape(key[1:-1])) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- if not keys -%}
        {{ image }}
    {%- else -%}
        {%- set names = keys | join('|') if keys | length <= 100 else '[^"]*' -%}
        {%- set pattern = '(?<!\\\\)("(?:' ~ names ~ ')"\\s*:\\s*)(-?[0-9]+[.eE][-+.0-9eE]*)' -%}
        regexp_replace({{ image }}, {{ dbt_cdc._literal(pattern) }}, '$1"$2"')
    {%- endif -%}
{%- endmacro %}
