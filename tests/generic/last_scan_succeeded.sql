{#- For dm_cdc_log_scan_sessions: runs of the capture job with errors whose window no later run has
    published; the last run, if it ended more than `max_minutes` ago and has left its window open;
    one that began so long ago and has not ended. A `dbt build` that captures is itself the last
    run, and shows its own outcome. -#}
{% test last_scan_succeeded(model, max_minutes=60) %}
select
    sessions.session_id,
    sessions.start_time,
    sessions.end_time,
    sessions.scan_phase,
    errors.error_message
from {{ model }} as sessions
cross join (
    select
        current_timestamp() - interval '{{ max_minutes | int }}' minute as long_ago,
        max(session_id) as session_id,
        coalesce(max(if(scan_phase = 'Done', session_id, null)), 0) as done_id
    from {{ model }}
    where end_time is not null
) as last
left join {{ ref('dbt_cdc', 'dm_cdc_errors') }} as errors
    on sessions.session_id = errors.session_id
where
    case
        when sessions.session_id = 0 then false
        when sessions.end_time is null then sessions.start_time < last.long_ago
        when sessions.error_count > 0 then sessions.session_id > last.done_id
        else
            sessions.session_id = last.session_id
            and sessions.scan_phase <> 'Done'
            and sessions.end_time < last.long_ago
    end
    and not {{ dbt_cdc._captures_now() | lower }}
{% endtest %}
