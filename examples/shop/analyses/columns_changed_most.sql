{#- Which columns the updates of a table change most. -#}
with updates as (
    select
        explode({{ dbt_cdc.changed_columns('public_orders', '`__$update_mask`') }}) as column_name
    from {{ dbt_cdc.get_all_changes(
        'public_orders', dbt_cdc.get_min_lsn('public_orders'), dbt_cdc.get_max_lsn()) }}
    where `__$operation` = 4
)

select
    column_name,
    count(*) as updates
from updates
group by column_name
order by updates desc, column_name asc
