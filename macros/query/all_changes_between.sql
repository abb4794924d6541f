{#- SQL Server's wrapper functions by time, to be used after `from`. -#}

{#- All changes of transactions with start_time < commit time <= end_time (open: < end_time); NULL is
    the low or high end. -#}
{% macro all_changes_between(
    capture_instance, start_time=none, end_time=none, row_filter_option='all',
    closed_high_end_point=true, column_list=none, update_flag_list=none
) -%}
    {%- do return(dbt_cdc._given_changes(capture_instance)) if execute and dbt_cdc._is_unit_test() -%}
    {%- set window = dbt_cdc._time_window(
        'all_changes_between', capture_instance, start_time, end_time, row_filter_option,
        closed_high_end_point, column_list, update_flag_list) -%}
    (
        {{ dbt_cdc._indent(dbt_cdc._wrapper_sql('all', window), 4) }}
    )
{%- endmacro %}


{#- The rows of a wrapper function. A flag tells whether a column has changed, on the rows with an update's new
    image, else it is NULL; of net changes only 'all with mask' gives the mask that it needs. -#}
{% macro _wrapper_sql(kind, window) -%}
    {%- set letters = {1: 'D', 2: 'I', 3: 'UO', 4: 'UN'} if kind == 'all'
        else {1: 'D', 2: 'I', 4: 'UN', 5: 'M'} -%}
    select
        {%- if kind == 'all' %}
        `__$start_lsn` as `__CDC_STARTLSN`,
        `__$seqval` as `__CDC_SEQVAL`,
        {%- endif %}
        {%- for column in window.listed_columns %}
        {{ dbt_cdc._column(column) }},
        {%- endfor %}
        case `__$operation`
            {%- for operation, letter in letters.items() %}
            when {{ operation }} then '{{ letter }}'
            {%- endfor %}
        end as `__CDC_OPERATION`
        {%- for column in window.flagged_columns %},
        case when `__$operation` = 4 then {{ dbt_cdc._has_bit(
            dbt_cdc._find_ordinal(window.columns, column), '`__$update_mask`',
            window.columns | length) }} end as {{ dbt_cdc._column(column ~ '_uflag') }}
        {%- endfor %}
    from (
        {{ dbt_cdc._indent(
            dbt_cdc._all_changes_sql(window) if kind == 'all' else dbt_cdc._net_changes_sql(window), 4) }}
    )
{%- endmacro %}
