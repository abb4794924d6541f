{{ config(materialized='state_view') }}

with published as (
    select
        max(start_lsn) as published_lsn,
        coalesce(
            max(if(tran_end_time <= current_timestamp() + interval '1' day, tran_end_time, null)),
            max(tran_end_time)
        ) as published_time
    from {{ ref('dbt_cdc', 'lsn_time_mapping') }}
),

waiting as (
    select
        bookmarks.consumer,
        bookmarks.capture_instance,
        count(*) as transactions,
        -- a time that is still to come, of a source whose clock was wrong, tells nothing
        min_by(mapping.tran_end_time, mapping.start_lsn) filter (
            where mapping.tran_end_time <= current_timestamp() + interval '1' day
        ) as first_time,
        max_by(mapping.tran_end_time, mapping.start_lsn) filter (
            where mapping.tran_end_time <= current_timestamp() + interval '1' day
        ) as last_time
    from {{ ref('dbt_cdc', 'consumer_bookmarks') }} as bookmarks
    inner join {{ ref('dbt_cdc', 'lsn_time_mapping') }} as mapping
        on mapping.start_lsn > coalesce(bookmarks.last_lsn, '')
    group by bookmarks.consumer, bookmarks.capture_instance
)

select
    bookmarks.consumer,
    bookmarks.capture_instance,
    bookmarks.mode,
    bookmarks.last_lsn,
    bookmarks.last_time,
    published.published_lsn,
    published.published_time,
    greatest(
        {{ dbt_cdc.lsn_number('published.published_lsn') }}
        - coalesce({{ dbt_cdc.lsn_number('bookmarks.last_lsn') }}, 0), 0
    ) as lag_lsn,
    -- from the consumed commit, or the first that waits where that one's clock was ahead, to the
    -- newest one
    coalesce(greatest(unix_seconds(waiting.last_time) - unix_seconds(if(
        bookmarks.last_time <= waiting.last_time, bookmarks.last_time, waiting.first_time
    )), 0), 0) as lag_seconds,
    coalesce(waiting.transactions, 0) as lag_transactions,
    -- of an instance that was disabled the changes are gone
    coalesce(bookmarks.last_lsn < instances.lost_lsn, instances.capture_instance is null)
        as is_stale,
    bookmarks.open_lsn,
    bookmarks.consumed_at,
    bookmarks.create_date
from {{ ref('dbt_cdc', 'consumer_bookmarks') }} as bookmarks
cross join published
left join waiting
    on
        bookmarks.consumer = waiting.consumer
        and bookmarks.capture_instance = waiting.capture_instance
left join {{ ref('dbt_cdc', 'change_tables') }} as instances
    on lower(bookmarks.capture_instance) = lower(instances.capture_instance)
where bookmarks.mode is not null
