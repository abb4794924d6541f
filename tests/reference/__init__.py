"""A small reference implementation of dbt_cdc in plain Python: what the SQL must agree with."""
