{#- The query functions of one instance: what stands in the macros, with parameters for values. -#}

{#- Name -> the rest of `create function`. -#}
{% macro _query_functions(instance) %}
    {% set statements = {} %}
    {% for kind in ['all', 'net'] if kind == 'all' or instance.supports_net_changes %}
        {% do statements.update({
            dbt_cdc._query_name(kind, instance): dbt_cdc._query_function_sql(kind, instance)}) %}
    {% endfor %}
    {% do return(statements) %}
{% endmacro %}


{% macro _query_name(kind, instance) %}
    {% do return('fn_cdc_get_' ~ kind ~ '_changes_' ~ dbt_cdc._object_name(instance.name)) %}
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
