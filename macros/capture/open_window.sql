{#- Opening a scan window: what there is to do, and the transactions that are written down. -#}

{#- The transactions of the window to scan as scan_transactions keeps them: those that it commits, and those
    that are still open at its end. -#}
{% macro _scan_rows(window) -%}
    {%- set transactions = dbt_cdc._state_relation('scan_transactions') -%}
    {%- set carried -%}
        select
            tran_id,
            begin_lsn as lsn,
            'BEGIN' as operation,
            begin_time as record_time,
            cast(null as struct<source_schema: string, source_name: string>) as source_table,
            changed_tables,
            updated_tables,
            record_count,
            schema_changes,
            cast(null as int) as command_id
        from {{ transactions }}
        where
            commit_lsn is null
            and window_to_lsn = (
                select max(window_to_lsn) from {{ transactions }}
                where window_to_lsn <= '{{ window.previous_lsn }}'
            )
    {%- endset -%}
    {%- set to_lsn = window.to_lsn or window.log_end or window.previous_lsn -%}
    {#- where the state does not tell all of what was open then: parts have landed since, or some COMMITs of the log
        tell their transactions and those of this window do not -#}
    {%- set reads_open = window.get('has_open_parts') or window.previous_lsn not in [to_lsn, dbt_cdc._zero_lsn()]
        and dbt_cdc._log_has(window.log, 'transaction')
        and not dbt_cdc._tells_transactions(window.log, window.previous_lsn, to_lsn) -%}
    select
        '{{ to_lsn }}' as window_to_lsn,
        tran_id,
        begin_lsn,
        begin_time,
        commit_lsn,
        commit_time,
        changed_tables,
        updated_tables,
        record_count,
        schema_changes,
        current_timestamp() as opened_at
    from (
        {{ dbt_cdc._indent(
            dbt_cdc._found_transactions(
                dbt_cdc._log_of_open(window.log, window.previous_lsn), dbt_cdc._zero_lsn(), to_lsn, none,
                is_scan=true) if reads_open
            else dbt_cdc._window_transactions(
                window.log, window.previous_lsn, to_lsn,
                carried if window.previous_lsn != dbt_cdc._zero_lsn() else none, is_scan=true
            ), 8) }}
    )
    {%- if reads_open %}
    where coalesce(commit_lsn > '{{ window.previous_lsn }}', true)
    {%- endif %}
{%- endmacro %}


{#- The records behind an LSN, and those before of transactions that had not ended there. -#}
{% macro _log_of_open(log, previous_lsn) -%}
(
    select log.*
    from {{ log }} as log
    left anti join {{ dbt_cdc._state_relation('scan_transactions') }} as known
        on log.tran_id = known.tran_id and log.lsn between known.begin_lsn and known.commit_lsn
    where log.lsn > '{{ previous_lsn }}' or log.tran_id is not null
)
{%- endmacro %}


{#- Opens the window, or finds the one that another run has opened meanwhile; with what is registered. -#}
{% macro _open_window(relation, rows, scanned_lsn) %}
    {% set query -%}
        select
            open_window.*,
            ({{ dbt_cdc._indent(dbt_cdc._as_json(dbt_cdc._registered_state_sql()), 12) }}) as registered
        from ({{ dbt_cdc._indent(dbt_cdc._open_windows_sql(scanned_lsn, relation), 12) }}) as open_window
    {%- endset %}
    {% set found = dbt_cdc._main_write_and_fetch(
        dbt_cdc._insert_once(relation, rows, "window_to_lsn > '" ~ scanned_lsn ~ "'"), query) %}
    {% do return(dict(dbt_cdc._window_of(found[0], scanned_lsn), is_opened_here=true)) %}
{% endmacro %}


{#- What there is to do: the window that is open, if any, the one right after the last published position.
    (In a run that others have overtaken there may be later ones, and this one be done already.) Else
    `log_end`, the last commit of the log that a new one takes in; `log_start` its first LSN, before the first
    window. `has_newer`: there are commits after the open window. `touched_tables` have changes in the
    window. `ends_with_rows`: its last commit surely left rows; `updated_tables`: those that have to be
    asked whether the other transactions did. `schema_changes`: the DDL and TRUNCATE records of captured
    tables. -#}
{% macro _find_work(state) %}
    {% do dbt_cdc._check_session_settings() %}
    {% set scanned_lsn = state.scanned_lsn %}
    {% set found = dbt_cdc._fetch(dbt_cdc._work_sql(state))[0] %}
    {% do dbt_cdc._check_time_zone(found.time_zone) %}
    {% do dbt_cdc._check_knows_windows(found, scanned_lsn) %}
    {% do dbt_cdc._check_reaches_back(found, scanned_lsn) %}
    {% do dbt_cdc._check_not_anew(found, scanned_lsn) %}
    {% do dbt_cdc._check_late_commits(found, state) %}
    {% set has_open_parts = dbt_cdc._check_grown_transactions(found, state) %}
    {% set log_end = none if found.to_lsn else dbt_cdc._checked_log_end(found, scanned_lsn) %}
    {% do dbt_cdc._check_told_transactions(scanned_lsn, log_end) if log_end %}
    {% do return(dict(
        dbt_cdc._window_of(found, scanned_lsn),
        has_open_parts=has_open_parts,
        log_start=found.first_lsn if scanned_lsn == dbt_cdc._zero_lsn() else none,
        log_end=log_end,
        has_newer=(found.to_lsn or '0xG') < (found.log_end or '')
    )) %}
{% endmacro %}


{% macro _window_of(row, scanned_lsn) %}
    {% do return({'previous_lsn': scanned_lsn, 'to_lsn': none, 'floor_lsn': none}) if not row or not row.to_lsn %}
    {% do return(dict(
        row,
        previous_lsn=scanned_lsn,
        touched_tables=fromjson(row.touched_tables),
        schema_changes=fromjson(row.schema_changes),
        respelt_changes=fromjson(row.get('respelt_changes') or '[]'),
        updated_tables=fromjson(row.updated_tables)
    )) %}
{% endmacro %}


{#- What is asked of tables that are not there yet is left out. -#}
{% macro _work_sql(state) -%}
    {%- set scanned_lsn = state.scanned_lsn -%}
    {%- set jobs = dbt_cdc._state_relation('cdc_jobs') -%}
    {%- set transactions = dbt_cdc._state_relation('scan_transactions') -%}
    select *
    from (
        {{ dbt_cdc._indent(dbt_cdc._log_end_sql(scanned_lsn), 8) }}
    ) as log_end
    {%- if load_cached_relation(jobs) is not none %}
    left join (
        select cast(maxtrans as bigint) * maxscans as most_commits
        from {{ jobs }}
        where job_type = 'capture' and not continuous
    ) as job on true
    {%- endif %}
    {%- if load_cached_relation(transactions) is not none %}
    left join (
        {{ dbt_cdc._indent(dbt_cdc._open_windows_sql(scanned_lsn, transactions), 8) }}
    ) as open_window on true
    left join (
        {{ dbt_cdc._indent(dbt_cdc._continuity_sql(state), 8) }}
    ) as continuity on true
    {%- else %}
    cross join (select false as knows_windows)
    {%- endif %}
{%- endmacro %}


{#- The first window after a position, as one row; `transactions` is where it is written down. The position may lie
    in the window: where a cleanup has published what a run that died had entered, or the view was lost. -#}
{% macro _open_windows_sql(scanned_lsn, transactions) -%}
    select
        window_to_lsn as to_lsn,
        min(begin_lsn) as floor_lsn,
        count(*) as transactions,
        max_by(begin_lsn, commit_lsn) as last_begin_lsn,
        sum(record_count) as record_count,
        sum(size(filter(schema_changes, change -> change.operation = 'DDL'))) as schema_change_count,
        to_json(array_sort(flatten(collect_list(captured_schema_changes)))) as schema_changes,
        to_json(flatten(collect_list(respelt_changes))) as respelt_changes,
        cast(max_by(commit_time, commit_lsn) as string) as last_commit_time,
        min(case when leaves_rows or may_leave_rows then begin_lsn end) as first_begin_cdc_lsn,
        max(case when leaves_rows or may_leave_rows then commit_lsn end) as last_commit_cdc_lsn,
        cast(max_by(
            commit_time, case when leaves_rows or may_leave_rows then commit_lsn end
        ) as string) as last_commit_cdc_time,
        max_by(leaves_rows, commit_lsn) as ends_with_rows,
        to_json(array_distinct(flatten(collect_set(array_union(changed_tables, updated_tables)))))
            as touched_tables,
        to_json(array_distinct(flatten(
            collect_set(case when not leaves_rows then {{ dbt_cdc._tables_to_ask() }} end)
        ))) as updated_tables
    from (
        select
            window_to_lsn,
            begin_lsn,
            commit_lsn,
            commit_time,
            record_count,
            schema_changes,
            changed_tables,
            updated_tables,
            {{ dbt_cdc._indent(dbt_cdc._captured_schema_changes_sql(), 12) }} as captured_schema_changes,
            {{ dbt_cdc._indent(dbt_cdc._respelt_changes_sql(), 12) }} as respelt_changes,
            {{ dbt_cdc._indent(dbt_cdc._leaves_rows(), 12) }} as leaves_rows,
            arrays_overlap(
                {{ dbt_cdc._tables_to_ask() }},
                {{ dbt_cdc._indent(dbt_cdc._captured_tables_sql(), 16) }}
            ) as may_leave_rows
        from {{ transactions }}
        where window_to_lsn > '{{ scanned_lsn }}' and commit_lsn > '{{ scanned_lsn }}'
    )
    group by window_to_lsn
    order by window_to_lsn
    limit 1
{%- endmacro %}
