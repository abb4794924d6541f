{#- On waiting_transactions: those that have waited for missing events longer than `max_minutes`, as
    the last run has left them. -#}
{% test no_waiting_transactions(model, max_minutes=60) %}
select
    tran_id,
    since,
    reason,
    waiting_commits
from {{ dbt_cdc._waiting_transactions(model) }}
where since < current_timestamp() - interval '{{ max_minutes | int }}' minute
{% endtest %}
