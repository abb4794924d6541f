{#- What has stopped scans, and what to do about each. -#}
select
    errors.entry_time,
    errors.session_id,
    phases.scan_phase,
    errors.error_number,
    errors.error_message,
    known.way_out
from {{ ref('dm_cdc_errors') }} as errors
left join {{ ref('cdc_scan_phases') }} as phases
    on errors.phase_number = phases.phase_number
left join {{ ref('cdc_errors') }} as known
    on errors.error_number = known.error_number
order by errors.entry_time
