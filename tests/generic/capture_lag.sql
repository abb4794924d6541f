{#- Commits that have waited longer than `max_minutes` for publication. Those of a window that
    was opened since then do not count: this command or another one is capturing them. -#}
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
    {%- if instance.transactions %}
    and not exists (
        select 1
        from {{ instance.transactions }} as opened
        where
            lsn <= opened.window_to_lsn
            and opened.window_to_lsn > '{{ instance.scanned_lsn }}'
            and opened.opened_at >= current_timestamp() - interval '{{ max_minutes | int }}' minute
    )
    {%- endif %}
    and record_time < current_timestamp() - interval '{{ max_minutes | int }}' minute
{% endtest %}
