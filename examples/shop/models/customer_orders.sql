{#- A consumer of two tables: what has changed in either of them is worked out anew, at one LSN.
    Both keys have customer_id: an order that moves to another customer is a delete and an insert. -#}
{{ config(materialized='replica', unique_key='customer_id') }}

with touched as (
    select customer_id from {{ dbt_cdc.new_changes('public_customers') }}
    union
    select customer_id from {{ dbt_cdc.new_changes('public_orders') }}
),

customers as (
    select
        customer_id,
        name
    from {{ ref('customers_history') }}
    where valid_to_lsn is null
)

select
    touched.customer_id,
    customers.name,
    count(orders.order_no) as order_count,
    sum(orders.amount) as amount,
    if(max(customers.customer_id) is null, 1, 4) as `__$operation`
from touched
left join customers on touched.customer_id = customers.customer_id
left join {{ ref('orders') }} as orders on touched.customer_id = orders.customer_id
group by touched.customer_id, customers.name
