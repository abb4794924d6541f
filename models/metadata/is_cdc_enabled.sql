{{ config(materialized='state_view') }}

select
    '{{ target.schema }}' as name,
    count(*) > 0 as is_cdc_enabled
from {{ ref('change_tables') }}
