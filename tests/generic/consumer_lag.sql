{#- For a model that takes new_changes: capture instances whose published changes it has not
    consumed for longer than `max_minutes` of commit time, or never can (is_stale). One that has
    never run has no row in cdc_consumers, and fails once something is published. -#}
{% test consumer_lag(model, max_minutes=60) %}
{%- set consumer = dbt_cdc._literal(dbt_cdc._tested_consumer(model)) %}
with consumed as (
    select
        consumer,
        capture_instance,
        last_lsn,
        published_lsn,
        lag_seconds,
        lag_transactions,
        is_stale,
        -- a `dbt build` that tests the model has not closed its bookmark yet
        coalesce(open_lsn >= published_lsn, false) as is_up_to_date
    from {{ ref('dbt_cdc', 'cdc_consumers') }}
    where consumer = {{ consumer }}
)

select * except (is_up_to_date) from consumed
where
    is_stale
    or (lag_transactions > 0 and lag_seconds > {{ max_minutes | int }} * 60 and not is_up_to_date)
union all
select
    {{ consumer }} as consumer,
    cast(null as string) as capture_instance,
    cast(null as string) as last_lsn,
    max(start_lsn) as published_lsn,
    cast(null as bigint) as lag_seconds,
    count(*) as lag_transactions,
    false as is_stale
from {{ ref('dbt_cdc', 'lsn_time_mapping') }}
where not exists (select 1 from consumed)
having count(*) > 0
{% endtest %}
