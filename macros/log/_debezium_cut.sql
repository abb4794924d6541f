{#- Where a log begins whose first records were removed (docs/retention.md). The first record of all is the BEGIN of the
    snapshot, or without one that of a transaction, at the snapshot's place. -#}
{% macro _debezium_cut_lsn_sql() -%}
if(min_by(operation, lsn) = 'BEGIN' and min(lsn) < '{{ dbt_cdc._debezium_lsn(
    dbt_cdc._debezium_snapshot_commit() + 1) }}', null, min(lsn)) as cut_lsn
{%- endmacro %}


{#- A log of SQL Server has no BEGINs: where it lacks the snapshot it was cut, or began without one. -#}
{% macro _debezium_cut_lsn(batch) %}
    {% set cut_lsn = "if(min(lsn) > '" ~ dbt_cdc._debezium_snapshot_lsn() ~ "', min(lsn), null) as cut_lsn"
        if batch.is_sqlserver else dbt_cdc._debezium_cut_lsn_sql() %}
    {% do return(dbt_cdc._fetch('select ' ~ cut_lsn ~ ' from ' ~ batch.log)[0].cut_lsn) %}
{% endmacro %}
