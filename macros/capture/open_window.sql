{#- Opens a scan window by writing down its transactions, in one atomic statement that does nothing
    where a window after the published position is already there. -#}
{% macro _open_window_sql(scanned_lsn, to_lsn) -%}
    {%- set target = dbt_cdc._state_relation('scan_transactions') -%}
    {%- set carried -%}
        select
            tran_id,
            begin_lsn as lsn,
            'BEGIN' as operation,
            begin_time as record_time,
            cast(null as struct<source_schema: string, source_name: string>) as source_table,
            changed_tables,
            updated_tables
        from {{ target }}
        where
            commit_lsn is null
            and window_to_lsn = (
                select max(window_to_lsn) from {{ target }} where window_to_lsn <= '{{ scanned_lsn }}'
            )
    {%- endset -%}
    {%- set rows -%}
        select
            '{{ to_lsn }}' as window_to_lsn,
            tran_id,
            begin_lsn,
            begin_time,
            commit_lsn,
            commit_time,
            changed_tables,
            updated_tables
        from (
            {{ dbt_cdc._indent(dbt_cdc._window_transactions(
                dbt_cdc._log_relation(), scanned_lsn, to_lsn,
                carried if scanned_lsn != dbt_cdc._zero_lsn() else none
            ), 12) }}
        )
    {%- endset -%}
    {{ dbt_cdc._insert_once(
        target, rows,
        'not exists (select 1 from ' ~ target ~ " where window_to_lsn > '" ~ scanned_lsn ~ "')"
    ) }}
{%- endmacro %}
