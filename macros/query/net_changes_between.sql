{#- Net changes of transactions with start_time < commit time <= end_time (open: < end_time), to be used
    after `from`; NULL is the low or high end. -#}
{% macro net_changes_between(
    capture_instance, start_time=none, end_time=none, row_filter_option='all',
    closed_high_end_point=true, column_list=none, update_flag_list=none
) -%}
    {%- do return(dbt_cdc._given_changes(capture_instance)) if execute and dbt_cdc._is_unit_test() -%}
    {%- set window = dbt_cdc._time_window(
        'net_changes_between', capture_instance, start_time, end_time, row_filter_option,
        closed_high_end_point, column_list, update_flag_list) -%}
    (
        {{ dbt_cdc._indent(dbt_cdc._wrapper_sql('net', window), 4) }}
    )
{%- endmacro %}
