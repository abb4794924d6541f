{{ config(materialized='state_view') }}

with captured as (
    select distinct
        source_schema,
        source_name
    from {{ ref('dbt_cdc', 'change_tables') }}
),

logged as (
    {{ dbt_cdc.log_tables() }}
),

-- records of a captured table may be gone
tables as (
    select * from captured
    union
    select * from logged
)

select
    tables.source_schema,
    tables.source_name,
    captured.source_name is not null as is_tracked_by_cdc,
    tables.source_name as name
from tables
left join captured
    on
        tables.source_schema = captured.source_schema
        and tables.source_name = captured.source_name
