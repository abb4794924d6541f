{#- Commits that have waited longer than `max_minutes` for publication. Those that the
    current run (dbt build) is capturing do not count. -#}
{% test capture_lag(model, max_minutes=60) %}
{%- set log = dbt_cdc._log_relation() %}
{%- set instance = dbt_cdc._tested_instance(model) %}
select
    lsn,
    tran_id,
    record_time as commit_time
from {{ log }}
where
    operation = 'COMMIT'
    and lsn > '{{ [instance.scanned_lsn, instance.being_scanned or ''] | max }}'
    and record_time < current_timestamp() - interval '{{ max_minutes | int }}' minute
{% endtest %}
