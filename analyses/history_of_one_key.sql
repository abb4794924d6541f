{#- What has happened to one row: each value that changed, old beside new. -#}
select
    `__$commit_time`,
    `__$operation`,
    `__$column_name`,
    `__$old_value`,
    `__$new_value`
from {{ dbt_cdc.get_column_changes(
    'public_orders', dbt_cdc.get_min_lsn('public_orders'), dbt_cdc.get_max_lsn()) }}
where customer_id = 2 and order_no = 1
order by `__$start_lsn`, `__$seqval`, `__$operation`, `__$column_name`
