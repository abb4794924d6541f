{{ config(materialized='state_view') }}

-- Of a schema that is not enabled, or disabled again, there is no such view.
select
    '{{ ref('dbt_cdc', 'change_tables').schema }}' as name,
    true as is_cdc_enabled
