{#- All changes in [from_lsn, to_lsn] in the shape of Delta's change data feed and of Spark's CHANGES
    clause, to be used after `from`. The commit's version is its LSN, a string that sorts. -#}
{% macro change_feed(capture_instance, from_lsn, to_lsn) -%}
    {%- do return(dbt_cdc._given_changes(capture_instance)) if execute and dbt_cdc._is_unit_test() -%}
    {%- set window = dbt_cdc._query_window(
        'change_feed', capture_instance, from_lsn, to_lsn, 'all update old') -%}
    (
        select
            {%- for column in window.columns %}
            {{ dbt_cdc._column(column.name) }},
            {%- endfor %}
            case `__$operation`
                when 1 then 'delete'
                when 2 then 'insert'
                when 3 then 'update_preimage'
                when 4 then 'update_postimage'
            end as `_change_type`,
            `__$start_lsn` as `_commit_version`,
            `__$commit_time` as `_commit_timestamp`
        from (
            {{ dbt_cdc._indent(dbt_cdc._with_commit_time(
                dbt_cdc._all_changes_sql(window), window), 8) }}
        )
    )
{%- endmacro %}
