{#- How exports of SQL Server's change tables write LSNs, masks, times and values. -#}

{#- The types of a relation's columns by name, or an error that says which are missing. -#}
{% macro _exported_types(relation, names) %}
    {% set types = {} %}
    {% for column in dbt_cdc._exported_described(relation) %}
        {% do types.update({column.name | lower: column.dtype | lower}) %}
    {% endfor %}
    {% set missing = names | reject('in', types) | list %}
    {% do dbt_cdc.raise_cdc_error(
        22963, 'change_table_log: ' ~ relation ~ ' lacks ' ~ missing | join(', '),
        'export the table with all of its columns, under their own names'
    ) if execute and missing %}
    {% do return(types) %}
{% endmacro %}


{#- Its columns, asked once in a command; with --empty a relation is a query of no rows. -#}
{% macro _exported_described(relation) %}
    {% do return([]) if not execute %}
    {% set described = dbt_cdc._invocation_cache().setdefault('exported_columns', {}) %}
    {% set table = relation.replace(limit=none) %}
    {% do described.update({table | string: dbt_cdc._table_columns(table)}) if table | string not in described %}
    {% do return(described[table | string]) %}
{% endmacro %}


{% macro _exported_has(relation, name) %}
    {% do return(name in dbt_cdc._exported_types(relation, [])) %}
{% endmacro %}


{#- The captured columns of a change table, in the order of their ordinals. -#}
{% macro _exported_columns(relation) %}
    {% do dbt_cdc._exported_types(relation, ['__$start_lsn', '__$seqval', '__$operation', '__$update_mask']) %}
    {% set captured = [] %}
    {% for column in dbt_cdc._exported_described(relation) %}
        {% do captured.append(column) if not column.name.startswith('__$') %}
    {% endfor %}
    {% do return(captured) %}
{% endmacro %}


{#- An LSN: 10 bytes, or their hexadecimal digits with or without 0x or colons, or base64. -#}
{% macro _exported_lsn(name, relation) -%}
    {%- set of_none = dbt_cdc._raise_bad_record(
        dbt_cdc._literal(relation | string), "'a row has no __$start_lsn, as a line that was cut'",
        'export it again, or delete the row') | indent(4) if name == '`__$start_lsn`' else 'null' -%}
    {%- if dbt_cdc._exported_types(relation, []).get(name | replace('`', '')) == 'binary' -%}
case
    when {{ name }} is null then {{ of_none }}
    when octet_length({{ name }}) = 10 then concat('0x', hex({{ name }}))
    else {{ dbt_cdc._raise_bad_record(
        dbt_cdc._literal(relation | string),
        "concat('" ~ name | replace('`', '') ~ " has the bytes ', hex(" ~ name ~ "))",
        'export LSNs with their ten bytes') | indent(4) }}
end
    {%- else -%}
case
    when {{ name }} is null then {{ of_none }}
    when {{ name }} rlike '^(0[xX])?[0-9A-Fa-f]{20}\\z' then concat('0x', upper(right({{ name }}, 20)))
    when {{ name }} rlike '^[0-9A-Fa-f]{8}:[0-9A-Fa-f]{8}:[0-9A-Fa-f]{4}\\z'
        then concat('0x', upper(replace({{ name }}, ':')))
    when {{ name }} rlike '^[0-9A-Za-z+/]{14}==\\z' then concat('0x', hex(unbase64({{ name }})))
    else {{ dbt_cdc._raise_bad_record(
        dbt_cdc._literal(relation | string), "concat('" ~ name | replace('`', '') ~ " is ', " ~ name ~ ")",
        'export LSNs as bytes, as hexadecimal digits or as base64') | indent(4) }}
end
    {%- endif -%}
{%- endmacro %}


{#- Bytes as `0x` and digits. -#}
{% macro _exported_bytes(name, data_type) -%}
{{ "concat('0x', hex(" ~ name ~ '))' if data_type == 'binary'
    else "if(" ~ name ~ " rlike '^0[xX]', concat('0x', upper(substr(" ~ name ~ ", 3))), " ~ name ~ ')' }}
{%- endmacro %}


{#- A datetime of the server, which has no zone; a text that has one is of it. A cast also takes a number, as seconds,
    and a text without a date, as of today. -#}
{% macro _exported_time(name, time_zone, relation) -%}
{%- set data_type = dbt_cdc._exported_types(relation, [name]).get(name, 'timestamp') -%}
{%- set is_text = modules.re.match('string|(var)?char', data_type) -%}
{%- do dbt_cdc.raise_cdc_error(
    22859, 'change_table_log: ' ~ relation ~ ' has ' ~ name ~ ' as ' ~ data_type,
    'export it as timestamp, date or string, or cast it in a staging model'
) if not is_text and not modules.re.fullmatch('timestamp(_ntz|_ltz)?|date', data_type) -%}
{%- set date = '^\\s*\\d{4,}-\\d+-\\d' -%}
{%- set time = 'try_cast(' ~ name ~ ' as timestamp)' -%}
case
    when {{ name }} is not null and {{ time }} is null
        {{- ' or not ' ~ name ~ ' rlike ' ~ dbt_cdc._literal(date) if is_text }} then {{ dbt_cdc._raise_bad_record(
        dbt_cdc._literal(relation | string), "concat('" ~ name ~ " is ', " ~ name ~ ")",
        'export times as such, or cast them in a staging model') | indent(4) }}
    {%- if is_text %}
    when not {{ name }} rlike {{ dbt_cdc._literal(date ~ '+([T ][\\d:.]*)?\\s*\\z') }} then {{ time }}
    {%- endif %}
    else {{ time if time_zone == 'UTC' else 'to_utc_timestamp(' ~ time ~ ', ' ~ dbt_cdc._literal(time_zone) ~ ')' }}
end
{%- endmacro %}


{#- The mask's hexadecimal digits. Base64 has another length than digits, or ends with `=`. -#}
{% macro _exported_mask(relation, columns) -%}
{%- set name, digits = '`__$update_mask`', 2 * ((columns + 7) // 8) -%}
{%- set as_base64 = 4 * ((digits + 4) // 6) -%}
{%- if dbt_cdc._exported_types(relation, []).get('__$update_mask') == 'binary' -%}
hex({{ name }})
{%- else -%}
case
    when {{ name }} rlike '^0[xX]' and length({{ name }}) {{ '<> ' ~ as_base64 if as_base64 != digits + 2 else '> 0' }}
        then upper(substr({{ name }}, 3))
    when {{ name }} rlike '^([0-9A-Fa-f]{2})+\\z' and (length({{ name }}) = {{ digits }} or length({{ name }}) % 4 <> 0)
        then upper({{ name }})
    else hex(unbase64({{ name }}))
end
{%- endif -%}
{%- endmacro %}


{#- A value as the image has it: JSON has no times, and Spark writes those of its own with milliseconds. -#}
{% macro _exported_value(column) -%}
{%- set name = dbt_cdc._column(column.name) -%}
{%- set family = dbt_cdc._type_family(column.dtype) -%}
{{ 'cast(' ~ name ~ ' as string)' if family == 'timestamp' else name }}
{%- endmacro %}


{#- The columns of a row as the image has them. -#}
{% macro _exported_struct(columns) -%}
named_struct(
    {%- for column in columns %}
    {{ dbt_cdc._literal(column.name) }}, {{ dbt_cdc._exported_value(column) }}{{ ',' if not loop.last }}
    {%- endfor %}
)
{%- endmacro %}


{#- The value before: of an update that does not change it, that of its second row. Where it is none of a (max) column,
    the two are the same. -#}
{% macro _exported_before(column, ordinal) -%}
{%- set name = dbt_cdc._column(column.name) -%}
{%- if dbt_cdc._type_family(column.dtype) in ['string', 'text', 'binary'] -%}
coalesce(before.{{ name }}, if(array_contains(operations, 3) and {{ dbt_cdc._exported_bit(ordinal) }} = 0, {# -#}
after.{{ name }}, null))
{%- else -%}
before.{{ name }}
{%- endif -%}
{%- endmacro %}


{#- Of what may be a (max), text or image column nothing tells that it is none. JDBC gives these the greatest length;
    that of the others is 8000 at most. -#}
{% macro _exported_is_large(column) %}
    {% set length = modules.re.search('[0-9]+', column.dtype) %}
    {% do return(dbt_cdc._type_family(column.dtype) in ['string', 'text', 'binary']
        and not (length and length.group() | int <= 8000)) %}
{% endmacro %}


{% macro _exported_has_large(columns) %}
    {% for column in columns if dbt_cdc._exported_is_large(column) %}
        {% do return(true) %}
    {% endfor %}
    {% do return(false) %}
{% endmacro %}


{#- The bits of all captured columns, which inserts and deletes have. -#}
{% macro _exported_full_mask(columns) %}
    {% do return("'" ~ ('%0' ~ 2 * ((columns + 7) // 8) ~ 'X') | format(2 ** columns - 1) ~ "'") %}
{% endmacro %}


{#- The members of a before image that nothing tells: SQL Server leaves text, ntext and image out of the first row of an
    update; where the second one is NULL as well and the mask says that it changed, there was a value. -#}
{% macro _exported_cleared(columns) -%}
filter(array(
    {%- for column in columns if dbt_cdc._exported_is_large(column) %}
    if({{ dbt_cdc._exported_bit(columns.index(column)) }} = 1 and {# -#}
    coalesce(before.{{ dbt_cdc._column(column.name) }}, after.{{ dbt_cdc._column(column.name) }}) is null, {# -#}
    {{ dbt_cdc._exported_null(column.name) }}, null){{ ',' if not loop.last }}
    {%- endfor %}
), member -> array_contains(operations, 3) and member is not null)
{%- endmacro %}


{#- Whether a value differs in the rows of an update and the bit at its column's place is not set: the columns of the
    export are in another order. A rowversion, which is binary, is left out; a mask of another length is refused
    anyway. -#}
{% macro _exported_is_displaced(columns) -%}
{%- set moved = [] -%}
{%- for column in columns if dbt_cdc._type_family(column.dtype) != 'binary' -%}
    {%- set name = dbt_cdc._column(column.name) -%}
    {#- the row before an update has no large value -#}
    {%- set is_changed = 'before.' ~ name ~ ' <> after.' ~ name if dbt_cdc._exported_is_large(column)
        else 'not before.' ~ name ~ ' <=> after.' ~ name -%}
    {%- do moved.append(is_changed ~ ' and ' ~ dbt_cdc._exported_bit(columns.index(column))
        ~ ' = 0') -%}
{%- endfor -%}
coalesce(operations = array(3, 4) and exists(array(
    {{ moved | join(',\n    ') or 'false' }}
), is_moved -> is_moved), false)
{%- endmacro %}


{#- A member that is null, as Spark's JSON has it. -#}
{% macro _exported_null(name) -%}
regexp_replace(to_json(named_struct({{ dbt_cdc._literal(name) }}, cast(null as string)), {# -#}
map('ignoreNullFields', 'false')), '^[{]|[}]\\z', '')
{%- endmacro %}


{#- The bit of a column in the mask. -#}
{% macro _exported_bit(ordinal) -%}
cast(conv(substr(mask, -{{ 1 + ordinal // 4 }}, 1), 16, 10) as int) div {{ 2 ** (ordinal % 4) }} % 2
{%- endmacro %}
