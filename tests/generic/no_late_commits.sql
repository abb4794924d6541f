{#- Transactions of the instance's table that landed in the log, or grew there, after the scan had
    passed. They are in no window and never will be (docs/monitoring.md says how to recover). The
    test reads the whole log. -#}
{% test no_late_commits(model) %}
{%- set log = dbt_cdc._log_relation() %}
{%- set instance = dbt_cdc._tested_instance(model) %}
{%- set source = "named_struct('source_schema', " ~ dbt_cdc._literal(instance.source_schema)
    ~ ", 'source_name', " ~ dbt_cdc._literal(instance.source_name) ~ ")" %}
with scanned as (
    select
        commit_lsn,
        record_count
    from {{ dbt_cdc._state_beside(instance.mapping, 'scan_transactions') }}
    where commit_lsn is not null
),

landed as (
    select *
    from (
        {{ dbt_cdc._indent(
            dbt_cdc._found_transactions(log, dbt_cdc._zero_lsn(), instance.scanned_lsn, none), 8) }}
    )
    where
        commit_lsn >= '{{ instance.interval.get('low_end', '0xG') }}'
        and (
            array_contains(changed_tables, {{ source }})
            or array_contains(updated_tables, {{ source }})
        )
)

select
    landed.commit_lsn,
    landed.tran_id,
    landed.commit_time,
    landed.record_count as records_in_the_log,
    scanned.record_count as records_scanned
from landed
left join scanned on landed.commit_lsn = scanned.commit_lsn
where
    scanned.record_count < landed.record_count
    or (
        scanned.commit_lsn is null
        -- of a backfill's part below what is kept of earlier scans only the change table tells
        and (
            landed.commit_lsn >= (select min(commit_lsn) from scanned)
            or array_contains(landed.changed_tables, {{ source }})
        )
        and landed.commit_lsn not in (
            select `__$start_lsn` from {{ model }}
            where `__$start_lsn` is not null
        )
    )
{% endtest %}
