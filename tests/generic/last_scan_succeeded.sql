{#- For dm_cdc_log_scan_sessions: the last run of the capture job that has ended, if it ended with
    errors, and one that began more than `max_minutes` ago and has not ended. A `dbt build` that
    captures is itself the last run, and shows its own outcome. -#}
{% test last_scan_succeeded(model, max_minutes=60) %}
select
    sessions.session_id,
    sessions.start_time,
    sessions.end_time,
    sessions.scan_phase,
    errors.error_message
from {{ model }} as sessions
left join {{ ref('dbt_cdc', 'dm_cdc_errors') }} as errors
    on sessions.session_id = errors.session_id
where
    case
        when sessions.end_time is null
            then sessions.start_time
                < current_timestamp() - interval '{{ max_minutes | int }}' minute
        else
            sessions.error_count > 0
            and sessions.session_id = (
                select max(session_id) from {{ model }} where end_time is not null
            )
    end
    and not {{ dbt_cdc._captures_now() | lower }}
{% endtest %}
