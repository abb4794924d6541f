{{ dbt_cdc.state_table() }}
