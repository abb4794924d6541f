select * from (
        select
            checked as `__$start_lsn`,
            checked as `__$seqval`,
            cast(checked as int) as `__$operation`,
            checked as `__$update_mask`,
            cast(checked as int) as `id`,
            checked as `note`,
            cast(checked as decimal(9,2)) as `amount`,
            cast(checked as timestamp) as `at`
        from (
            select
                case
                    when high_end is null then raise_error('CDC 313: nothing is published yet for capture instance dbo_orders: dbt run --select +lsn_time_mapping captures and publishes, once the log holds a commit (dbt_packages/dbt_cdc/docs/errors.md)')
                    when '0x00000000000000000001' < low_end then raise_error(concat(
                        'CDC 313: from_lsn ', '0x00000000000000000001', ' is below the low end ', low_end,
                        ' of capture instance dbo_orders: older changes were removed or never captured; start at or after the low end (get_min_lsn), or load the table anew (dbt_packages/dbt_cdc/docs/errors.md)'))
                    when '0x000000000000000000FF' > high_end then raise_error(concat(
                        'CDC 313: to_lsn ', '0x000000000000000000FF', ' is above the high end ', high_end,
                        ' of capture instance dbo_orders: it is not published yet; end at or before the high end (validity_intervals has it, also of an instance that has ended), or run dbt first (dbt_packages/dbt_cdc/docs/errors.md)'))
                    else cast(null as string)
                end as checked
            from schema_of_target.validity_intervals
            where lower(capture_instance) = 'dbo_orders'
        )
        where checked is not null
        union all
        select
            `__$start_lsn`,
            `__$seqval`,
            `__$operation`,
            `__$update_mask`,
            `id`,
            `note`,
            `amount`,
            `at`
        from schema_of_target.dbo_orders_ct
        where
            `__$start_lsn` >= '0x00000000000000000001'
            and `__$start_lsn` <= '0x000000000000000000FF'
            and `__$operation` <> 3
    )
