{#- How far the change tables are behind: the last commit that is published, the last one in the
    log, and the clock. -#}
with published as (
    select
        max(start_lsn) as high_end,
        max(tran_end_time) as published_until
    from {{ ref('lsn_time_mapping') }}
),

log_end as (
    select
        max(lsn) as last_commit,
        max(record_time) as logged_until
    from {{ ref('shop_log') }}
    where operation = 'COMMIT'
)

select
    published.high_end,
    published.published_until,
    log_end.last_commit,
    log_end.logged_until,
    timestampdiff(second, published.published_until, log_end.logged_until) as seconds_behind_log,
    timestampdiff(second, published.published_until, current_timestamp()) as seconds_behind_now
from published
cross join log_end
