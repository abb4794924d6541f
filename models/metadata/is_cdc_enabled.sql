{{ config(materialized='state_view') }}

-- Of a schema that is not enabled, or disabled again, there is no such view.
-- depends_on: {{ ref('change_tables') }}
select
    '{{ dbt_cdc._validity_intervals().schema }}' as name,
    true as is_cdc_enabled
