{#- For event_balances: batches with events that are not in the log, copies, waiting or
    skipped. -#}
{% test every_event_is_accounted_for(model) %}
with balances as (
    select
        *,
        in_log + copies + waiting + given_up + later_snapshots
        + heartbeats + tombstones + messages as accounted_for
    from {{ dbt_cdc._table_of_adapters('event_balances', model) }}
)

select *
from balances
where landed <> accounted_for or least(in_log, copies) < 0
{% endtest %}
