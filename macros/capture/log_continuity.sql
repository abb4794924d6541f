{#- Whether the log goes on where the last scan ended: what landed since in places that had passed, and what is gone
    before it was captured, is in no window. -#}

{#- A first look, for each run: one row. `late_commits` are commits that no scan has had; `has_grown`: transactions
    whose records a scan has had have more now, or some have none that it had. -#}
{% macro _continuity_sql(state) -%}
    {%- set scanned_lsn = state.scanned_lsn -%}
    select
        (
            select count(*) > 0
            from (select 1 from {{ dbt_cdc._log_relation() }} where lsn <= '{{ scanned_lsn }}' limit 1)
        ) as reaches_back,
        {%- if not dbt_cdc._log_is_of_adapter() %}
        (
            select count(*) > 0
            from (
                {{ dbt_cdc._indent(dbt_cdc._grown_ids_sql(state), 16) }}
            )
        ) as has_grown,
        {%- endif %}
        count(*) as late_commits,
        min(log.lsn) as first_late_lsn,
        max(log.lsn) as last_late_lsn
    from {{ dbt_cdc._log_relation() }} as log
    left anti join (
        {{ dbt_cdc._indent(dbt_cdc._known_commits_sql(), 8) }}
    ) as known on log.lsn = known.commit_lsn
    where
        (log.operation = 'COMMIT' or (log.operation in ('DDL', 'TRUNCATE') and log.tran_id is null))
        and log.lsn <= '{{ scanned_lsn }}'
        and log.lsn > (
            {{ dbt_cdc._indent(dbt_cdc._late_bound_sql(state), 12) }}
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


{#- A log that begins behind what was captured may lack what came in between. -#}
{% macro _check_reaches_back(found, scanned_lsn) %}
    {% set choice = dbt_cdc._stop_or_pass('cdc_log_gap', var('cdc_log_gap', 'stop')) %}
    {% if (found.log_end or found.to_lsn) and found.get('reaches_back') == false
        and scanned_lsn != dbt_cdc._zero_lsn() %}
        {% set what = 'the log begins at ' ~ (found.first_lsn or 'no record any more') ~ ' and was captured up to '
            ~ scanned_lsn ~ ': what came in between may be missing' %}
        {% if choice == 'pass' %}
            {% do dbt_cdc._log_line(what) %}
        {% else %}
            {% do dbt_cdc.raise_cdc_error(
                22859, what,
                'put back what was removed of the log (log_truncation_point says what has to stay); where nothing is '
                ~ 'missing, as the source was quiet, give vars: {cdc_log_gap: pass} for one run; else begin anew: '
                ~ 'disable_table of the instances, and run again'
            ) %}
        {% endif %}
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
    {% if dbt_cdc._stop_or_pass('cdc_log_gap', var('cdc_log_gap', 'stop')) == 'stop'
        and not dbt_cdc._fetch('select 1 from ' ~ log ~ " where lsn <= '" ~ lsn ~ "' limit 1") %}
        {% do dbt_cdc.raise_cdc_error(
            22859, 'the log begins behind ' ~ lsn ~ ', where ' ~ what ~ ': what came in between may be missing',
            'put back what was removed of the log (log_truncation_point says what has to stay); where nothing is '
            ~ 'missing, give vars: {cdc_log_gap: pass} for one run' ~ way_on
        ) %}
    {% endif %}
{% endmacro %}


{% macro _stop_or_pass(name, choice) %}
    {% if choice not in ['stop', 'pass'] %}
        {% do dbt_cdc.raise_cdc_error(
            22963, 'var ' ~ name ~ " is '" ~ choice ~ "'", "give 'stop' or 'pass'") %}
    {% endif %}
    {% do return(choice) %}
{% endmacro %}


{#- Those of captured tables stop the run, or are told of where the project goes on without them. -#}
{% macro _check_late_commits(found, state) %}
    {% set choice = dbt_cdc._stop_or_pass('cdc_late_commits', var('cdc_late_commits', 'stop')) %}
    {% set late = dbt_cdc._fetch(dbt_cdc._late_transactions_sql(found, state))[0] if found.late_commits else {} %}
    {% if late.transactions %}
        {% set is_one = late.transactions == 1 %}
        {% set what = late.transactions ~ ' transaction' ~ ('' if is_one else 's') ~ ' of ' ~ late.tables
            ~ ' landed too late, ' ~ ('' if is_one else 'the first ') ~ 'with the commit ' ~ late.first_lsn
            ~ ' (tran_id ' ~ late.tran_id ~ '): the log had been captured up to ' ~ state.scanned_lsn %}
        {% if choice == 'pass' %}
            {% do dbt_cdc._log_line(what ~ '; no change table has it') %}
        {% else %}
            {% do dbt_cdc.raise_cdc_error(
                22859, what,
                'readers have had the windows of that place, so no change table has it; to capture it: late commits '
                ~ '(' ~ dbt_cdc._page('monitoring.md') ~ '); to go on without it, give vars: {cdc_late_commits: pass}'
            ) %}
        {% endif %}
    {% endif %}
{% endmacro %}


{#- A second look, over what has landed up to there: which of them have changes of captured or tracked tables, at or
    above the low end of an instance. -#}
{% macro _late_transactions_sql(found, state) -%}
    {%- set changed_tables -%}
concat(changed_tables, updated_tables, transform(
    coalesce(schema_changes, array()),
    change -> named_struct('source_schema', change.source_schema, 'source_name', change.source_name)
))
    {%- endset -%}
    select
        count(*) as transactions,
        min(late.commit_lsn) as first_lsn,
        min_by(late.tran_id, late.commit_lsn) as tran_id,
        array_join(array_sort(array_distinct(flatten(collect_list(late.tables)))), ', ') as tables
    from (
        select
            commit_lsn,
            tran_id,
            {{ dbt_cdc._indent(dbt_cdc._captured_among(changed_tables, state), 12) }} as tables
        from (
            {{ dbt_cdc._indent(dbt_cdc._window_transactions(
                dbt_cdc._log_relation(), dbt_cdc._zero_lsn(), found.last_late_lsn), 12) }}
        )
        where commit_lsn >= '{{ found.first_late_lsn }}'
    ) as late
    left anti join (
        {{ dbt_cdc._indent(dbt_cdc._known_commits_sql(), 8) }}
    ) as known on late.commit_lsn = known.commit_lsn
    where size(late.tables) > 0
{%- endmacro %}


{% macro _known_commits_sql() -%}
    select commit_lsn from {{ dbt_cdc._state_relation('scan_transactions') }}
    {%- if load_cached_relation(dbt_cdc._state_relation('lsn_time_mapping')) is not none %}
    union all
    select start_lsn from {{ dbt_cdc._state_relation('lsn_time_mapping') }}
    {%- endif %}
{%- endmacro %}
