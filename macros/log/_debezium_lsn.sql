{#- How the adapter numbers transactions and their records. -#}

{#- The LSN (text) of a commit number. -#}
{% macro _debezium_lsn(commit_number) %}
    {% do return('0x' ~ '%014X' | format(commit_number) ~ '000000') %}
{% endmacro %}


{#- The last commit of the log, the zero LSN where there is none. -#}
{% macro _debezium_last_lsn(batch) %}
    {% do return((batch.get('last_lsn') or dbt_cdc._zero_lsn()) if batch.is_sqlserver
        else dbt_cdc._debezium_lsn(batch.last_commit)) %}
{% endmacro %}


{#- The LSN of a commit number in SQL; `low` is the number in the transaction, none for its COMMIT. -#}
{% macro _debezium_lsn_sql(high, low=none) -%}
concat('0x', lpad(hex({{ high }}), 14, '0'), {{ 'lpad(hex(' ~ low ~ "), 6, '0')" if low else "'000000'" }})
{%- endmacro %}


{#- The number of the snapshot's COMMIT: before any WAL position of a database. -#}
{% macro _debezium_snapshot_commit() %}
    {% do return(65536) %}
{% endmacro %}


{% macro _debezium_snapshot_lsn() %}
    {% do return(dbt_cdc._debezium_lsn(dbt_cdc._debezium_snapshot_commit())) %}
{% endmacro %}


{#- The place of an END: behind all events of its transaction. -#}
{% macro _debezium_last_slot() %}
    {% do return(2 ** 63 - 1) %}
{% endmacro %}


{#- The commit number of an LSN, in SQL. -#}
{% macro _debezium_commit_number(lsn='lsn') -%}
cast(conv(substr({{ lsn }}, 3, 14), 16, 10) as bigint)
{%- endmacro %}
