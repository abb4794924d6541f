{{ config(materialized='scan', full_refresh=false) }}
{{ dbt_cdc.scan() }}
