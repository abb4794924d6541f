{{ config(materialized='state_view') }}

select distinct
    source_schema,
    source_name,
    true as is_tracked_by_cdc
from {{ ref('change_tables') }}
