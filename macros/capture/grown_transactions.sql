{#- A first look: the ids of transactions with records that landed when a scan had passed their places: more than a
    transaction of the last window had; or, in the windows of the last day, in no transaction that is known (cleanup
    may have removed it: the second look tells). -#}
{% macro _grown_ids_sql(state) -%}
    {%- set transactions = dbt_cdc._state_relation('scan_transactions') -%}
    {%- set log = dbt_cdc._log_relation() -%}
    {%- set end = "(select greatest('" ~ state.scanned_lsn ~ "', max(window_to_lsn)) from " ~ transactions ~ ')' -%}
    select known.tran_id
    from {{ transactions }} as known
    inner join {{ log }} as log
        on known.tran_id = log.tran_id and log.lsn between known.begin_lsn and coalesce(known.commit_lsn, '0xG')
    where
        known.window_to_lsn >= '{{ state.scanned_lsn }}'
        and log.lsn <= known.window_to_lsn
        -- a bound that is known before the join, so that not the whole log is read
        and log.lsn >= (
            select min(begin_lsn) from {{ transactions }} where window_to_lsn >= '{{ state.scanned_lsn }}'
        )
    group by known.window_to_lsn, known.tran_id, known.begin_lsn, known.record_count
    having count(*) > known.record_count
    union
    select log.tran_id
    from {{ log }} as log
    left anti join (
        select
            tran_id,
            begin_lsn,
            commit_lsn
        from {{ transactions }}
        where commit_lsn is not null or window_to_lsn = (select max(window_to_lsn) from {{ transactions }})
    ) as known
        on log.tran_id = known.tran_id and log.lsn between known.begin_lsn and coalesce(known.commit_lsn, '0xG')
    where
        log.tran_id is not null
        and log.lsn <= {{ end }}
        and log.lsn > (
            select coalesce({{ dbt_cdc._indent(dbt_cdc._before_last_day_sql(), 12) }}, '{{ dbt_cdc._zero_lsn() }}')
            from {{ transactions }}
        )
        -- of a log that tells its transactions, those that have not ended are not known, and need not be
        and not coalesce((
            select exists(
                json_object_keys(to_json(struct(*), map('ignoreNullFields', 'false'))),
                name -> lower(name) = 'transaction'
            )
            from {{ log }}
            limit 1
        ), false)
    group by log.tran_id
    having max_by(log.operation, log.lsn) <> 'ROLLBACK'
{%- endmacro %}


{% macro _before_last_day_sql() -%}
max(case when opened_at < (
    select max_by(opened_at, window_to_lsn) - interval '1' day from {{ dbt_cdc._state_relation('scan_transactions') }}
) then window_to_lsn end)
{%- endmacro %}


{#- A second look: these transactions out of all records. Of those that have ended, which are of captured or tracked
    tables, at or above the low end of an instance; `has_open`: some have not ended, and can be captured whole. -#}
{% macro _grown_transactions_sql(found, state) -%}
    {%- set of_ids -%}
        (
            select log.*
            from {{ dbt_cdc._log_relation() }} as log
            left semi join (
                {{ dbt_cdc._indent(dbt_cdc._grown_ids_sql(state), 16) }}
            ) as grown on log.tran_id = grown.tran_id
        )
    {%- endset -%}
    select
        count(captured_lsn) as transactions,
        min(captured_lsn) as commit_lsn,
        min_by(tran_id, captured_lsn) as tran_id,
        min_by(records, captured_lsn) as records,
        min_by(captured_records, captured_lsn) as captured_records,
        min_by(names, captured_lsn) as tables,
        coalesce(bool_or(commit_lsn is null), false) as has_open
    from (
        select
            *,
            array_join({{ dbt_cdc._indent(dbt_cdc._captured_among('tables', state), 12) }}, ', ') as names,
            if(names <> '', commit_lsn, null) as captured_lsn
        from (
            select
                landed.tran_id,
                landed.commit_lsn,
                landed.record_count as records,
                known.record_count as captured_records,
                array_union(landed.changed_tables, landed.updated_tables) as tables
            from (
                {{ dbt_cdc._indent(dbt_cdc._found_transactions(
                    of_ids, dbt_cdc._zero_lsn(), found.to_lsn or state.scanned_lsn, none), 16) }}
            ) as landed
            left join {{ dbt_cdc._state_relation('scan_transactions') }} as known
                on landed.commit_lsn = known.commit_lsn
            where landed.commit_lsn is null or landed.record_count > known.record_count
        )
    )
{%- endmacro %}


{#- Stops for those of captured tables, or tells of them where the project goes on. Gives whether some of them have not
    ended. -#}
{% macro _check_grown_transactions(found, state) %}
    {% set grown = dbt_cdc._fetch(dbt_cdc._grown_transactions_sql(found, state))[0] if found.get('has_grown') else {} %}
    {% if grown.transactions %}
        {% set what = 'transaction ' ~ grown.tran_id ~ ' of ' ~ grown.tables ~ ', with the commit ' ~ grown.commit_lsn
            ~ ', has ' ~ grown.records ~ ' records in the log and had ' ~ grown.captured_records
            ~ ' when it was captured: the others landed too late' %}
        {% do dbt_cdc._stop_or_tell(
            'cdc_late_commits', what, '; no change table has them',
            'a COMMIT may become visible only with all records of its transaction; to capture them: late commits '
            ~ '(' ~ dbt_cdc._page('monitoring.md') ~ '); to go on without them, '
            ~ dbt_cdc._pass_late_commits()
        ) %}
    {% endif %}
    {% do return(grown.has_open and not dbt_cdc._log_has(dbt_cdc._log_relation(), 'transaction')) %}
{% endmacro %}
