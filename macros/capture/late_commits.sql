{#- Commits that landed in places that the scans had passed: what a run does about them. -#}

{#- LSNs that began again far below what was captured would never be captured. -#}
{% macro _check_not_anew(found, scanned_lsn) %}
    {% if found.get('anew_lsn') %}
        {% set what = 'the log was captured up to ' ~ scanned_lsn ~ ', and has a later commit below, ' ~ found.anew_lsn
            ~ ' (tran_id ' ~ found.anew_tran_id ~ ', ' ~ found.anew_time ~ '): its LSNs began anew, or times of '
            ~ 'captured commits were edited' %}
        {% do dbt_cdc._stop_or_tell(
            'cdc_late_commits', what, '; no change table has what came anew',
            'LSNs only rise: give what came since LSNs behind ' ~ scanned_lsn ~ '; where the source was restored, '
            ~ 'land it in a log with a schema of its own; to go on without it, or where times alone were edited, '
            ~ 'give vars: {cdc_late_commits: pass} until later commits are captured'
        ) %}
    {% endif %}
{% endmacro %}


{#- Those of captured tables stop the run, or are told of where the project goes on without them. -#}
{% macro _check_late_commits(found, state) %}
    {% do dbt_cdc._stop_or_pass('cdc_late_commits') %}
    {% set late = dbt_cdc._fetch(dbt_cdc._late_transactions_sql(found, state))[0] if found.late_commits else {} %}
    {% if late.transactions %}
        {% set is_one = late.transactions == 1 %}
        {% set what = late.transactions ~ ' transaction' ~ ('' if is_one else 's') ~ ' of ' ~ late.tables
            ~ ' landed too late, ' ~ ('' if is_one else 'the first ') ~ 'with the commit ' ~ late.first_lsn
            ~ ' (tran_id ' ~ late.tran_id ~ '): the log had been captured up to ' ~ state.scanned_lsn %}
        {% do dbt_cdc._stop_or_tell(
            'cdc_late_commits', what, '; no change table has it',
            'readers have had the windows of that place, so no change table has it; to capture it: late commits '
            ~ '(' ~ dbt_cdc._page('monitoring.md') ~ '); to go on without it, '
            ~ dbt_cdc._pass_late_commits()
        ) %}
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
