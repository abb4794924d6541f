{#- What shows that a value is not what the image says: the parser rounds some, and some it cannot tell. -#}

{#- The name of a column whose value is not what the image says, or `image` where it is none; NULL where all
    is well. -#}
{% macro _misfit(instance) -%}
    {%- set columns = instance.columns -%}
    {%- set tests = [] -%}
    {%- for column in columns -%}
        {%- for misfit in dbt_cdc._misfits(column) -%}
            {%- do tests.append('when ' ~ misfit ~ ' then ' ~ dbt_cdc._literal(column.name)) -%}
        {%- endfor -%}
    {%- endfor -%}
case
    when json.malformed is not null or size(json.images) <> 2
        or {{ dbt_cdc._logged_before(instance) }} is null or after is null or text is null {{- " and not (operation = 'UPDATE' and after_image is not null)"
            if instance.before_image == 'partial' }} then 'image'
    {%- if instance.before_image == 'complete' %}
    when arrays_overlap(before_lacks, names) then get(array_intersect(before_lacks, names), 0)
    {%- endif %}
    {%- for test in tests %}
    {{ dbt_cdc._indent(test, 4) }}
    {%- endfor %}
end
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


{#- True for rows that `condition` takes, or the error that stops the scan; why a record is bad, `_problems`
    tells then. -#}
{% macro _checked(instance, condition) -%}
if(misfit is null, {{ condition }}, raise_error(concat(
    {{ dbt_cdc._literal('CDC 22859: bad log record of table ' ~ instance.table ~ ', lsn ') }}, lsn,
    ', column ', misfit, {{ dbt_cdc._literal(dbt_cdc._error_page()) }}
)))
{%- endmacro %}


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
