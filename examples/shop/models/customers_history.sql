{{ config(materialized='history') }}
select * from {{ dbt_cdc.new_changes('public_customers') }}
