{#- On waiting_transactions: those that have waited for missing events longer than `max_minutes`, as the last run
    has left them. -#}
{% test no_waiting_transactions(model, max_minutes=60) %}
{%- if dbt_cdc._has_state('waiting_transactions') %}
select
    tran_id,
    since,
    reason,
    waiting_commits
from {{ model }}
where
    since < current_timestamp() - interval '{{ max_minutes | int }}' minute
    and (commit_lsn is not null or waiting_commits > 0)
{%- else %}
select 'no adapter of this project' as tran_id where false
{%- endif %}
{% endtest %}
