{{ dbt_cdc.change_table() }}
