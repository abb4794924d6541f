{#- SQL Server's wrapper functions by time, to be used after `from`. -#}

{#- All changes of transactions with start_time < commit time <= end_time (open: < end_time); NULL is
    the low or high end. -#}
{% macro all_changes_between(
    capture_instance, start_time=none, end_time=none, row_filter_option='all',
    closed_high_end_point=true, column_list=none, update_flag_list=none
) -%}
    {%- set window = dbt_cdc._time_window(
        'all_changes_between', capture_instance, start_time, end_time, row_filter_option,
        closed_high_end_point, column_list, update_flag_list) -%}
    (
        {{ dbt_cdc._indent(dbt_cdc._all_wrapper_sql(window), 4) }}
    )
{%- endmacro %}


{% macro _all_wrapper_sql(window) -%}
    select
        `__$start_lsn` as `__CDC_STARTLSN`,
        `__$seqval` as `__CDC_SEQVAL`,
        {{ dbt_cdc._wrapper_columns(window) }}
        case `__$operation`
            when 1 then 'D'
            when 2 then 'I'
            when 3 then 'UO'
            when 4 then 'UN'
        end as `__CDC_OPERATION`
        {{- dbt_cdc._update_flags(window) }}
    from (
        {{ dbt_cdc._indent(dbt_cdc._all_changes_sql(window), 4) }}
    )
{%- endmacro %}


{% macro _wrapper_columns(window) -%}
    {%- for column in window.listed_columns -%}
        {{ dbt_cdc._column(column) }},{{ '\n        ' if not loop.last }}
    {%- endfor -%}
{%- endmacro %}


{#- Whether a column has changed, on the rows with an update's new image; else NULL. -#}
{% macro _update_flags(window) -%}
    {%- for column in window.flagged_columns %},
        case when `__$operation` = 4 then {{ dbt_cdc._has_bit(
            dbt_cdc._find_ordinal(window.columns, column), '`__$update_mask`',
            window.columns | length) }} end as {{ dbt_cdc._column(column ~ '_uflag') }}
    {%- endfor -%}
{%- endmacro %}
