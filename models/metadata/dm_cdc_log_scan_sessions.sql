{{ config(materialized='state_view') }}

with numbered as (
    select
        *,
        end_lsn is null and error_count = 0 as is_empty,
        count_if(end_lsn is not null or error_count > 0) over (
            order by start_time, session_id
            rows between unbounded preceding and current row
        ) as island
    from {{ ref('dbt_cdc', 'scan_sessions') }}
),

-- successive empty scans are one row
ended as (
    select
        min(session_id) as session_id,
        min(start_time) as start_time,
        max(end_time) as end_time,
        max(scan_phase) as scan_phase,
        max(error_count) as error_count,
        max(start_lsn) as start_lsn,
        max(end_lsn) as end_lsn,
        max(tran_count) as tran_count,
        max(last_commit_time) as last_commit_time,
        max(log_record_count) as log_record_count,
        max(schema_change_count) as schema_change_count,
        max(command_count) as command_count,
        max(first_begin_cdc_lsn) as first_begin_cdc_lsn,
        max(last_commit_cdc_lsn) as last_commit_cdc_lsn,
        max(last_commit_cdc_time) as last_commit_cdc_time,
        if(is_empty, count(*), 0) as empty_scan_count,
        max_by(waiting_for, session_id) as waiting_for
    from numbered
    group by island, is_empty
),

-- a window that a run has opened and no run has ended yet; what a session starts from is published
active as (
    select
        window_to_lsn as end_lsn,
        min(opened_at) as start_time,
        count(commit_lsn) as tran_count,
        max(commit_time) as last_commit_time
    from {{ ref('dbt_cdc', 'scan_transactions') }}
    where
        window_to_lsn > (
            select coalesce(max(greatest(ended.start_lsn, ended.end_lsn)), '0x') from ended
        )
    group by window_to_lsn
),

sessions as (
    select
        session_id,
        start_time,
        end_time,
        if(tran_count = 0, 0, unix_seconds(end_time) - unix_seconds(start_time)) as duration,
        scan_phase,
        error_count,
        start_lsn,
        if(scan_phase = 'Done', coalesce(end_lsn, start_lsn), start_lsn) as current_lsn,
        coalesce(end_lsn, start_lsn) as end_lsn,
        tran_count,
        if(tran_count > 0, end_lsn, null) as last_commit_lsn,
        last_commit_time,
        log_record_count,
        schema_change_count,
        command_count,
        first_begin_cdc_lsn,
        last_commit_cdc_lsn,
        last_commit_cdc_time,
        cast(if(
            scan_phase = 'Done' and last_commit_cdc_time is not null,
            -- whatever clock the source has
            least(greatest(
                unix_seconds(end_time) - unix_seconds(last_commit_cdc_time), -2147483648
            ), 2147483647), 0
        ) as int) as latency,
        cast(empty_scan_count as int) as empty_scan_count,
        if(error_count > 0, 1, 0) as failed_sessions_count,
        waiting_for
    from ended
    union all
    select
        cast(unix_seconds(start_time) - 1577836800 as int) as session_id,
        start_time,
        cast(null as timestamp) as end_time,
        unix_seconds(current_timestamp()) - unix_seconds(start_time) as duration,
        'Second scan' as scan_phase,
        0 as error_count,
        cast(null as string) as start_lsn,
        cast(null as string) as current_lsn,
        end_lsn,
        tran_count,
        end_lsn as last_commit_lsn,
        last_commit_time,
        cast(null as bigint) as log_record_count,
        cast(null as int) as schema_change_count,
        cast(null as bigint) as command_count,
        cast(null as string) as first_begin_cdc_lsn,
        cast(null as string) as last_commit_cdc_lsn,
        cast(null as timestamp) as last_commit_cdc_time,
        0 as latency,
        0 as empty_scan_count,
        0 as failed_sessions_count,
        cast(null as string) as waiting_for
    from active
),

aggregated as (
    select
        0 as session_id,
        min(start_time) as start_time,
        max(end_time) as end_time,
        sum(duration) as duration,
        'Aggregate' as scan_phase,
        cast(sum(error_count) as int) as error_count,
        min(start_lsn) as start_lsn,
        '0x00000000000000000000' as current_lsn,
        max(end_lsn) as end_lsn,
        sum(tran_count) as tran_count,
        max(last_commit_lsn) as last_commit_lsn,
        max_by(last_commit_time, last_commit_lsn) as last_commit_time,
        sum(log_record_count) as log_record_count,
        cast(sum(schema_change_count) as int) as schema_change_count,
        sum(command_count) as command_count,
        min(first_begin_cdc_lsn) as first_begin_cdc_lsn,
        max(last_commit_cdc_lsn) as last_commit_cdc_lsn,
        max_by(last_commit_cdc_time, last_commit_cdc_lsn) as last_commit_cdc_time,
        cast(coalesce(
            max_by(latency, session_id) filter (where latency <> 0), 0
        ) as int) as latency,
        cast(sum(empty_scan_count) as int) as empty_scan_count,
        cast(sum(failed_sessions_count) as int) as failed_sessions_count,
        max_by(waiting_for, session_id) filter (where end_time is not null) as waiting_for
    from sessions
    having count(*) > 0
),

final as (
    select * from aggregated
    union all
    select * from sessions
)

select
    * except (waiting_for),
    regexp_replace(start_lsn, '0x(.{8})(.{8})', '$1:$2:') as start_lsn_text,
    regexp_replace(current_lsn, '0x(.{8})(.{8})', '$1:$2:') as current_lsn_text,
    regexp_replace(end_lsn, '0x(.{8})(.{8})', '$1:$2:') as end_lsn_text,
    regexp_replace(last_commit_lsn, '0x(.{8})(.{8})', '$1:$2:') as last_commit_lsn_text,
    regexp_replace(first_begin_cdc_lsn, '0x(.{8})(.{8})', '$1:$2:') as first_begin_cdc_lsn_text,
    regexp_replace(last_commit_cdc_lsn, '0x(.{8})(.{8})', '$1:$2:') as last_commit_cdc_lsn_text,
    waiting_for
from final
