{#- Commits that have waited longer than `max_minutes` for publication. Those of a window that
    was opened since then do not count: this command or another one is capturing them. Nor do those
    beyond var cdc_scan_until. -#}
{% test capture_lag(model, max_minutes=60) %}
{%- set log = dbt_cdc._log_relation() %}
{%- set instance = dbt_cdc._tested_instance(model) %}
{%- set captured = [instance.scanned_lsn, dbt_cdc._being_scanned(instance, max_minutes)] | max %}
{%- set bound = dbt_cdc._scan_until() if execute %}
select
    lsn,
    tran_id,
    record_time as commit_time
from {{ log }}
where
    operation = 'COMMIT'
    and lsn > '{{ captured }}'
    and record_time < current_timestamp() - interval '{{ max_minutes | int }}' minute
    and lsn < (
        select coalesce(min(lsn), '0xG') from {{ log }}
        where {{ dbt_cdc._is_commit() }} and lsn > '{{ captured }}' and {{ bound or 'false' }}
    )
{% endtest %}
