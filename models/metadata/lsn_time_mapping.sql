{{ config(materialized='publication', full_refresh=false) }}
{{ dbt_cdc.publication() }}
