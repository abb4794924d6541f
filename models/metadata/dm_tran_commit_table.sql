{{ config(materialized='state_view') }}

select
    commit_ts,
    xdes_id,
    cast(conv(substr(commit_lsn, 3, 16), 16, 10) as decimal(20, 0)) as commit_lbn,
    cast(conv(substr(commit_lsn, 19, 4), 16, 10) as int) as commit_csn,
    commit_time
from {{ ref('dbt_cdc', 'syscommittab') }}
