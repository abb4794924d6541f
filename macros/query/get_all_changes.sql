{#- All changes of a capture instance in [from_lsn, to_lsn], to be used after `from`:
    'all' gives operations 1, 2 and 4, 'all update old' 3 as well. -#}
{% macro get_all_changes(
    capture_instance, from_lsn, to_lsn, row_filter_option='all', with_commit_time=false
) -%}
    {%- do return(dbt_cdc._given_changes(capture_instance)) if execute and dbt_cdc._is_unit_test() -%}
    {%- set window = dbt_cdc._query_window(
        'get_all_changes', capture_instance, from_lsn, to_lsn, row_filter_option) -%}
    (
        {{ dbt_cdc._indent(dbt_cdc._with_commit_time(
            dbt_cdc._all_changes_sql(window), window, with_commit_time), 4) }}
    )
{%- endmacro %}


{% macro _all_changes_sql(window, more=[]) -%}
    {%- set columns = dbt_cdc._query_columns(window, [
        '__$start_lsn', '__$seqval', '__$operation', '__$update_mask'] + more) -%}
    {{ dbt_cdc._guard_first(columns, window) }}
    select
        {{ columns.names | join(',\n        ') }}
    {%- if window.is_settled %}
    from (
        {{ dbt_cdc._indent(dbt_cdc._settled_rows(window), 8) }}
    )
    {%- else %}
    {{ dbt_cdc._indent(dbt_cdc._window_rows(window), 0) }}
        {#- row 3 is kept for 'all update old' only; decided here for a literal option #}
        {%- if window.option_sql %}
        and (`__$operation` <> 3 or {{ window.option_sql }} = 'all update old')
        {%- elif window.option == 'all' %}
        and `__$operation` <> 3
        {%- endif %}
    {%- endif %}
{%- endmacro %}
