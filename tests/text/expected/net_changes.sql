select * from (
        select
            checked as `__$start_lsn`,
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
            case
                when `__$operation` = 1 then 1
                when `__$existed` then 4
                else 2
            end as `__$operation`,
            cast(null as string) as `__$update_mask`,
            `id`,
            `note`,
            `amount`,
            `at`
        from (
            select
                *,
                bool_or(case
                        when `__$operation` = 1 then `__$rows` < 0
                        else `__$rows` < 1 and `__$operation` <> 2 or `__$rows` = 1 and `__$next_delete`.lsn <=> `__$start_lsn` and not `__$next_delete`.image <=> struct(`id`, `note`, `amount`, `at`)
                    end) over in_order as `__$existed`,
                lead(`__$operation`) over by_key as `__$next_operation`,
                lead(`__$operation`, 2) over by_key as `__$second_operation`
            from (
                select
                    *,
                    sum(case `__$operation` when 2 then 1 when 1 then -1 else 0 end) over in_order as `__$rows`,
                    lead(if(`__$operation` = 1, struct(`__$start_lsn` as lsn, struct(`id`, `note`, `amount`, `at`) as image), null)) over by_key as `__$next_delete`,
                    lag(if(`__$operation` <> 1, `__$start_lsn`, null)) over by_key <=> `__$start_lsn` as `__$is_behind`
                from schema_of_target.dbo_orders_ct
                where
                    `__$start_lsn` >= '0x00000000000000000001'
                    and `__$start_lsn` <= '0x000000000000000000FF'
                    and `__$operation` <> 3
                window by_key as (partition by `id` order by `__$start_lsn`, `__$command_id`, `__$seqval`, `__$operation`),
                    in_order as (partition by `id` order by `__$start_lsn`, `__$command_id`, `__$seqval`, `__$operation` rows between unbounded preceding and current row)
            )
            window by_key as (partition by `id` order by `__$start_lsn`, `__$command_id`, `__$seqval`, `__$operation`),
                in_order as (partition by `id` order by `__$start_lsn`, `__$command_id`, `__$seqval`, `__$operation` rows between unbounded preceding and current row)
        )
        where
            case
                    when `__$next_operation` is not null
                        then `__$second_operation` is null and `__$operation` <> 1
                            and `__$next_delete`.lsn <=> `__$start_lsn` and `__$rows` >= if(`__$existed`, 1, 2)
                    when `__$operation` = 1 then `__$existed` and not (`__$is_behind` and `__$rows` >= 0)
                    else true
                end
    )
