{#- The query functions of one instance: what stands in the macros, with parameters for values. -#}

{#- Name -> the rest of `create function`. -#}
{% macro _query_functions(instance) %}
    {% set statements = {} %}
    {% for kind in ['all', 'net'] if kind == 'all' or instance.supports_net_changes %}
        {% do statements.update({
            dbt_cdc._query_name(kind, instance): dbt_cdc._query_function_sql(kind, instance),
            dbt_cdc._wrapper_name(kind, instance): dbt_cdc._wrapper_function_sql(kind, instance),
        }) %}
    {% endfor %}
    {% do return(statements) %}
{% endmacro %}


{% macro _query_name(kind, instance) %}
    {% do return('fn_cdc_get_' ~ kind ~ '_changes_' ~ dbt_cdc._object_name(instance.name)) %}
{% endmacro %}


{% macro _wrapper_name(kind, instance) %}
    {% do return('fn_' ~ kind ~ '_changes_' ~ dbt_cdc._object_name(instance.name)) %}
{% endmacro %}


{% macro _query_function_sql(kind, instance) -%}
    {%- set window = dbt_cdc._function_window(kind, instance) -%}
    {%- set given = dbt_cdc._parameters(
        ['from_lsn', 'to_lsn', 'row_filter_option'], instance.columns | map(attribute='name'),
        dbt_cdc._query_name(kind, instance)) -%}
    {%- do window.update(
        from_lsn=dbt_cdc._normalized_lsn_sql(given.from_lsn),
        to_lsn=dbt_cdc._normalized_lsn_sql(given.to_lsn),
        option_sql='lower(trim(' ~ given.row_filter_option ~ '))'
    ) -%}
    (from_lsn string, to_lsn string, row_filter_option string)
    returns table (
        `__$start_lsn` string,
        {%- if kind == 'all' %}
        `__$seqval` string,
        {%- endif %}
        `__$operation` int,
        `__$update_mask` string
        {%- for column in instance.columns %},
        {{ dbt_cdc._column(column.name) }} {{ dbt_cdc._expression_type(column.data_type) }}
        {%- endfor %}
    )
    return
    {{ dbt_cdc._all_changes_sql(window) if kind == 'all' else dbt_cdc._net_changes_sql(window) }}
{%- endmacro %}


{#- How the body of a function calls its parameters: with the function's name where a column of the same name
    would hide one. -#}
{% macro _parameters(parameters, columns, function) %}
    {% set hidden, calls = columns | map('lower') | list, {} %}
    {% for name in parameters %}
        {% do calls.update({name: function ~ '.' ~ name if name in hidden else name}) %}
    {% endfor %}
    {% do return(calls) %}
{% endmacro %}


{#- A function by time finds its commits when it runs: it reads the whole change table. `is_closed`: whether
    its window includes end_time; none makes that a parameter. -#}
{% macro _wrapper_function_sql(kind, instance, columns=none, flags=[], is_closed=none) -%}
    {%- set window = dbt_cdc._function_window(kind, instance) -%}
    {%- set captured = instance.columns | map(attribute='name') | list -%}
    {%- set columns = columns or captured -%}
    {%- set given = dbt_cdc._parameters(['row_filter_option'], captured, dbt_cdc._wrapper_name(kind, instance)) -%}
    {%- do window.update(
        by_time=true, start_time='start_time', end_time='end_time',
        is_closed='closed_high_end_point' if is_closed is none else is_closed | lower,
        from_lsn="'" ~ dbt_cdc._zero_lsn() ~ "'",
        to_lsn="'0x" ~ 'F' * 20 ~ "'", option_sql='lower(trim(' ~ given.row_filter_option ~ '))',
        listed_columns=columns, flagged_columns=flags
    ) -%}
    {%- do window.update(commits=dbt_cdc._published_commits_of_times(window)) -%}
    (
        start_time timestamp default null,
        end_time timestamp default null,
        row_filter_option string default 'all'
        {%- if is_closed is none %},
        closed_high_end_point boolean default true
        {%- endif %}
    )
    returns table (
        {%- if kind == 'all' %}
        `__CDC_STARTLSN` string,
        `__CDC_SEQVAL` string,
        {%- endif %}
        {%- for column in columns %}
        {{ dbt_cdc._column(column) }} {{ dbt_cdc._expression_type(
            instance.columns[dbt_cdc._find_ordinal(instance.columns, column) - 1].data_type) }},
        {%- endfor %}
        `__CDC_OPERATION` string
        {%- for column in flags %},
        {{ dbt_cdc._column(column ~ '_uflag') }} boolean
        {%- endfor %}
    )
    return
    {{ dbt_cdc._wrapper_sql(kind, window) }}
{%- endmacro %}


{% macro _published_commits_of_times(window) -%}
    select mapping.start_lsn
    from {{ dbt_cdc._state_relation('lsn_time_mapping') }} as mapping
    inner join {{ dbt_cdc._validity_intervals() }} as intervals
        on
            lower(intervals.capture_instance) = {{ dbt_cdc._literal(window.capture_instance | lower) }}
            and mapping.start_lsn >= intervals.low_end
            and mapping.start_lsn <= intervals.high_end
    where
        {{ dbt_cdc._indent(dbt_cdc._is_in_times(window), 4) }}
{%- endmacro %}
