{#- Where a log begins whose first records were removed (docs/retention.md). The first record of all is the BEGIN of the
    snapshot, or without one that of a transaction, at the snapshot's place. -#}
{% macro _debezium_cut_lsn_sql() -%}
if(min_by(operation, lsn) = 'BEGIN' and min(lsn) < '{{ dbt_cdc._debezium_lsn(
    dbt_cdc._debezium_snapshot_commit() + 1) }}', null, min(lsn)) as cut_lsn
{%- endmacro %}


{% macro _debezium_cut_lsn(batch) %}
    {% do return(dbt_cdc._fetch('select ' ~ dbt_cdc._debezium_cut_lsn_sql() ~ ' from ' ~ batch.log)[0].cut_lsn) %}
{% endmacro %}
