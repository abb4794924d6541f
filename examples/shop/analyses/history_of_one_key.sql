{#- What has happened to one row: each value that changed, old beside new. -#}
select
    changes.`__$commit_time`,
    changes.`__$operation`,
    operations.name as operation_name,
    changes.`__$column_name`,
    changes.`__$old_value`,
    changes.`__$new_value`
from {{ dbt_cdc.get_column_changes(
    'public_orders', dbt_cdc.get_min_lsn('public_orders'), dbt_cdc.get_max_lsn()) }} as changes
inner join {{ ref('cdc_operations') }} as operations
    on changes.`__$operation` = operations.operation
where changes.customer_id = 2 and changes.order_no = 1
order by
    changes.`__$start_lsn`,
    changes.`__$seqval`,
    changes.`__$operation`,
    changes.`__$column_name`
