{#- For a model that takes new_changes: capture instances whose published changes it has not
    consumed for longer than `max_minutes` of commit time, or never can (is_stale). -#}
{% test consumer_lag(model, max_minutes=60) %}
select
    consumer,
    capture_instance,
    last_lsn,
    published_lsn,
    lag_seconds,
    lag_transactions,
    is_stale
from {{ ref('dbt_cdc', 'cdc_consumers') }}
where
    consumer = {{ dbt_cdc._literal(dbt_cdc._tested_consumer(model)) }}
    and (
        is_stale
        or (lag_transactions > 0 and lag_seconds > {{ max_minutes | int }} * 60)
    )
{% endtest %}
