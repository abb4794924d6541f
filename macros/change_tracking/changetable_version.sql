{#- CHANGETABLE(VERSION ...), to be used after `from`: of one key, the version and context of its
    last change; a key that has not changed has NULL, one that was deleted last gives no row. -#}
{% macro changetable_version(table, primary_key_values) -%}
    {%- do return(dbt_cdc._given_rows(dbt_cdc._side_table_of(table)))
        if execute and dbt_cdc._is_unit_test() -%}
    {%- if execute -%}
    {%- set tracked = dbt_cdc._find_tracked_table(table) -%}
    {%- set key = dbt_cdc._key_literals(tracked, primary_key_values) -%}
    (
        {{ dbt_cdc._indent(dbt_cdc._version_sql(dbt_cdc._as_published(tracked), key), 8) }}
    )
    {%- else -%}
    {%- do dbt_cdc._depend_on_tracked_table(table) -%}
    {%- endif -%}
{%- endmacro %}


{#- The values as SQL, in the key's order. Given as a dictionary, in any order, or a list in the
    key's. -#}
{% macro _key_literals(tracked, values) %}
    {% set names = tracked.index_columns %}
    {% set values = values if values is mapping or (values is sequence and values is not string)
        else [values] %}
    {% do dbt_cdc.raise_cdc_error(
        22110, 'changetable_version: ' ~ values | length ~ ' values are given for the primary key of '
        ~ 'table ' ~ tracked.table, 'give one for each of ' ~ names | join(', ')
    ) if values | length != names | length %}
    {% set given = values if values is mapping else dict(zip(names, values)) %}
    {% set found = {} %}
    {% for name, value in given.items() %}
        {% set place = dbt_cdc._find_ordinal(dbt_cdc._key_columns(tracked), name) %}
        {% do dbt_cdc.raise_cdc_error(
            22111, "changetable_version: column '" ~ name ~ "' is not part of the primary key of table "
            ~ tracked.table, 'it has ' ~ names | join(', ')
        ) if place is none %}
        {% do found.update({place: value}) %}
    {% endfor %}
    {% do dbt_cdc.raise_cdc_error(
        22112, 'changetable_version: a column of the primary key of table ' ~ tracked.table
        ~ ' is given twice', 'give each of ' ~ names | join(', ') ~ ' once'
    ) if found | length != names | length %}
    {% set literals = [] %}
    {% for column in dbt_cdc._key_columns(tracked) %}
        {% do literals.append(dbt_cdc._key_literal_of(column, found[loop.index], tracked)) %}
    {% endfor %}
    {% do return(literals) %}
{% endmacro %}


{#- A value as the type of the key column; one that does not fit it stops the query, and so does one that a cast
    would round or cut. -#}
{% macro _key_literal_of(column, value, tracked) -%}
    {%- set data_type = dbt_cdc._expression_type(column.data_type | lower | trim) -%}
    {%- set text = value | string | trim -%}
    {%- set problem = "changetable_version: '" ~ value ~ "' is no value for key column " ~ column.name ~ ' of table '
        ~ tracked.table -%}
    {%- set advice = 'give one that fits its type, ' ~ data_type
        ~ (': base64, as in images, or 0x and hexadecimal digits' if data_type == 'binary') -%}
    {%- if value is none -%} cast(null as {{ data_type }})
    {%- elif not modules.re.fullmatch(dbt_cdc._key_value_pattern(data_type), text) -%}
        {%- do dbt_cdc.raise_cdc_error(313, problem, advice) -%}
    {%- elif data_type == 'binary' and text[:2] in ['0x', '0X'] -%} X'{{ text[2:] }}'
    {%- else -%}
    {%- do dbt_cdc._check_session_time_zone() if dbt_cdc._type_family(data_type) == 'timestamp' -%}
    coalesce(
        {{ dbt_cdc._plain_value(column, dbt_cdc._literal(text)) if data_type in ['binary', 'timestamp_ntz']
            else 'try_cast(' ~ dbt_cdc._literal(value) ~ ' as ' ~ data_type ~ ')' }},
        cast(raise_error({{ dbt_cdc._literal(dbt_cdc._error_text(313, problem, advice)) }}) as {{ data_type }})
    )
    {%- endif -%}
{%- endmacro %}


{#- How a value of a type is written that it holds exactly; a timestamp keeps microseconds, as in change tables. -#}
{% macro _key_value_pattern(data_type) %}
    {% do return({
        'decimal': '[-+]?[0-9]*([.][0-9]{0,' ~ dbt_cdc._type_size(data_type, 1) ~ '}0*)?',
        'date': '[-+]?[0-9]{4,}-[0-9]+-[0-9]+([T ][0:.]+Z?)?',
        'timestamp': '[-+]?[0-9]{4,}-[0-9]+-[0-9].*',
        'binary': '0[xX]([0-9a-fA-F]{2})*|([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}(==|[A-Za-z0-9+/]=))?',
    }.get(dbt_cdc._type_family(data_type), '(?s).*')) %}
{% endmacro %}


{#- `values` are SQL, in the key's order. -#}
{% macro _version_sql(tracked, values) -%}
    {%- set key = dbt_cdc._quoted(tracked.index_columns) -%}
    select
        sys_change_version,
        sys_change_context,
        {%- for name in key %}
        {{ values[loop.index0] }} as {{ name }}{{ ',' if not loop.last }}
        {%- endfor %}
    from (
        select
            max(sys_change_version) as sys_change_version,
            max_by(sys_change_operation, sys_change_version) as sys_change_operation,
            max_by(sys_change_context, sys_change_version) as sys_change_context
        from {{ tracked.relation }}
        where
            sys_change_version > coalesce(
                {{ dbt_cdc._published_version('min_valid_version', tracked) }},
                cast(raise_error({{ dbt_cdc._literal(dbt_cdc._untracked_text(tracked)) }}) as bigint)
            )
            and sys_change_version <= {{ dbt_cdc._published_version('current_version', tracked) }}
            {%- for column in dbt_cdc._key_columns(tracked) %}
            and {{ dbt_cdc._is_key_value(column, values[loop.index0]) }}
            {%- endfor %}
    )
    where
        (sys_change_operation is null or sys_change_operation <> 'D')
        {%- for value in values %}
        and {{ value }} is not null
        {%- endfor %}
{%- endmacro %}


{#- Whether a key column has a value; one of type char(n) has it whatever the blanks behind it. -#}
{% macro _is_key_value(column, value) -%}
    {%- set name = dbt_cdc._column(column.name) -%}
    {%- if dbt_cdc._is_char(column.data_type) -%} rtrim({{ name }}) = rtrim({{ value }})
    {%- else -%} {{ name }} = {{ value }}
    {%- endif -%}
{%- endmacro %}
