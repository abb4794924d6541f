{{ config(materialized='replica') }}
select * from {{ dbt_cdc.new_changes('public_orders') }}
