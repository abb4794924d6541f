{#- Whether the log goes on where the last scan ended: what landed since in places that had passed, and what is gone
    before it was captured, is in no window. -#}

{#- A first look, for each run: one row. `late_commits` are commits that no scan has had; `anew_lsn`: the first that
    cannot be one of those before it, as no commit that was captured is younger; `has_grown`: transactions whose
    records a scan has had have more now, or some have none that it had. -#}
{% macro _continuity_sql(state) -%}
    {%- set log = dbt_cdc._log_relation() -%}
    {%- set known = dbt_cdc._indent(dbt_cdc._known_commits_sql(), 16) -%}
    {%- set bound = dbt_cdc._indent(dbt_cdc._late_bound_sql(state), 20) -%}
    {%- set is_commit -%}
{{ dbt_cdc._is_commit() }} and lsn <= '{{ state.scanned_lsn }}'
    {%- endset -%}
    select
        (
            select count(*) > 0
            from (select 1 from {{ log }} where lsn <= '{{ state.scanned_lsn }}' limit 1)
        ) as reaches_back,
        (
            select count(*) > 0 from (select 1 from {{ dbt_cdc._state_relation('scan_transactions') }} limit 1)
        ) as knows_windows,
        {%- if not dbt_cdc._log_is_of_adapter() %}
        (
            select count(*) > 0
            from (
                {{ dbt_cdc._indent(dbt_cdc._grown_ids_sql(state), 16) }}
            )
        ) as has_grown,
        {%- endif %}
        count_if(anew is null) as late_commits,
        min(if(anew is null, lsn, null)) as first_late_lsn,
        max(if(anew is null, lsn, null)) as last_late_lsn,
        min(anew).lsn as anew_lsn,
        min(anew).tran_id as anew_tran_id,
        cast(min(anew).record_time as string) as anew_time
    from (
        select
            log.lsn,
            cast(null as struct<lsn: string, tran_id: string, record_time: timestamp>) as anew
        from {{ log }} as log
        left anti join (
                {{ known }}
        ) as known on log.lsn = known.commit_lsn
        where {{ is_commit }} and lsn > (
                    {{ bound }}
            )
        union all
        -- what was captured is not younger than that: so no file of it is read where files know their times
        select lsn, named_struct('lsn', lsn, 'tran_id', tran_id, 'record_time', record_time)
        from {{ log }}
        where {{ is_commit }}
            and record_time <= {{ dbt_cdc._end_of_today() }}
            {%- for time in [state.intervals.values() | map(attribute='high_time') | select | max] if time %}
            and record_time > {{ dbt_cdc._time_literal(time) }}
            {%- endfor %}
            and record_time > (
                select max(commit_time) from {{ dbt_cdc._state_relation('scan_transactions') }}
                where commit_lsn <= '{{ state.scanned_lsn }}' and commit_time <= {{ dbt_cdc._end_of_today() }}
            )
            and (
                lsn <= (
                    {{ bound }}
                )
                or lsn in (select commit_lsn from (
                {{ known }}
                ))
            )
    )
{%- endmacro %}


{#- Behind which LSN a run looks for late commits: the windows of the last day, of the last one at least. Where
    cleanup has removed transactions, only those behind the first that is left are known. -#}
{% macro _late_bound_sql(state) -%}
    {%- set low_ends = state.intervals.values() | map(attribute='low_end') | list -%}
    {%- set bound = "if(min(begin_lsn) >= '" ~ low_ends | min ~ "', min(begin_lsn), min(commit_lsn))" if low_ends
        else 'min(commit_lsn)' -%}
select greatest({{ bound }}, {{ dbt_cdc._indent(dbt_cdc._before_last_day_sql(), 4) }})
from {{ dbt_cdc._state_relation('scan_transactions') }}
{%- endmacro %}


{#- The last published window is always known: of what was open at its end, and of what came too late, nothing else
    tells. -#}
{% macro _check_knows_windows(found, scanned_lsn) %}
    {% if scanned_lsn != dbt_cdc._zero_lsn() and not found.get('knows_windows', true) %}
        {% set transactions = dbt_cdc._state_relation('scan_transactions') %}
        {% do dbt_cdc.raise_cdc_error(
            22906, 'table ' ~ transactions ~ ' is lost or empty, and the log is captured up to ' ~ scanned_lsn
            ~ ': transactions that were open there would lose their beginnings',
            'restore it (restore table ' ~ transactions ~ ' to version as of ...), or begin anew: disable_db, and run '
            ~ 'again; replicas and histories then need initial where the log lacks older rows'
        ) %}
    {% endif %}
{% endmacro %}


{#- A log that begins behind what was captured may lack what came in between. -#}
{% macro _check_reaches_back(found, scanned_lsn) %}
    {% do dbt_cdc._stop_or_pass('cdc_log_gap') %}
    {% if (found.log_end or found.to_lsn) and found.get('reaches_back') == false
        and scanned_lsn != dbt_cdc._zero_lsn() %}
        {% set what = 'the log begins at ' ~ (found.first_lsn or 'no record any more') ~ ' and was captured up to '
            ~ scanned_lsn ~ ': what came in between may be missing' %}
        {% do dbt_cdc._stop_or_tell(
            'cdc_log_gap', what, '',
            'put back what was removed of the log (log_truncation_point says what has to stay); where nothing is '
            ~ 'missing, as the source was quiet, give vars: {cdc_log_gap: pass} for one run; else begin anew: '
            ~ 'disable_table of the instances, disable_change_tracking of the tracked tables, and run once with this '
            ~ 'variable; replicas, histories and clients then start over (CDC 313)'
        ) %}
    {% endif %}
{% endmacro %}


{#- Nor may it have lost the beginning of a transaction that the window has: one that was open before, or any of a
    window that an earlier run has opened. -#}
{% macro _check_reaches_floor(window) %}
    {% do dbt_cdc._check_log_has(window.log, window.floor_lsn,
        'a transaction of the window up to ' ~ window.to_lsn ~ ' began'
    ) if window.floor_lsn <= window.previous_lsn or not window.get('is_opened_here') %}
{% endmacro %}


{#- What begins at an LSN may be gone from the log meanwhile. -#}
{% macro _check_log_has(log, lsn, what, way_on='') %}
    {% if dbt_cdc._stop_or_pass('cdc_log_gap') == 'stop'
        and not dbt_cdc._fetch('select 1 from ' ~ log ~ " where lsn <= '" ~ lsn ~ "' limit 1") %}
        {% do dbt_cdc.raise_cdc_error(
            22859, 'the log begins behind ' ~ lsn ~ ', where ' ~ what ~ ': what came in between may be missing',
            'put back what was removed of the log (log_truncation_point says what has to stay); where nothing is '
            ~ 'missing, give vars: {cdc_log_gap: pass} for one run' ~ way_on
        ) %}
    {% endif %}
{% endmacro %}


{% macro _known_commits_sql() -%}
    select commit_lsn from {{ dbt_cdc._state_relation('scan_transactions') }}
    {%- if load_cached_relation(dbt_cdc._state_relation('lsn_time_mapping')) is not none %}
    union all
    select start_lsn from {{ dbt_cdc._state_relation('lsn_time_mapping') }}
    {%- endif %}
{%- endmacro %}
