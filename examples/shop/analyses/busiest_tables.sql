{#- How many rows of each table were inserted, updated and deleted, over all that is kept. -#}
{% set instances = ['public_customers', 'public_docs', 'public_events_log', 'public_orders'] %}

with changes as (
    {% for instance in instances %}
        select
            '{{ instance }}' as capture_instance,
            `__$operation` as operation
        from {{ dbt_cdc.get_all_changes(
            instance, dbt_cdc.get_min_lsn(instance), dbt_cdc.get_max_lsn()) }}
        {{ 'union all' if not loop.last }}
    {% endfor %}
)

select
    capture_instance,
    count_if(operation = 2) as inserted,
    count_if(operation = 4) as updated,
    count_if(operation = 1) as deleted,
    count(*) as changes
from changes
group by capture_instance
order by changes desc, capture_instance asc
