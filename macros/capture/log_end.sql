{#- The last commit that a new window may take in; none where the log holds no new commit. A DDL or
    TRUNCATE without a transaction commits itself. -#}
{% macro _checked_log_end(found, scanned_lsn) %}
    {% do dbt_cdc.raise_cdc_error(
        22859, 'bad log record of ' ~ found.malformed,
        'an LSN is 0x and 20 upper-case hexadecimal digits, of which one is not 0; ' ~ dbt_cdc._bad_record_advice()
    ) if found.malformed %}
    {% do dbt_cdc._log_line(
        'the commit ' ~ found.timeless_lsn ~ ' has no record_time: no window by time that has an end has its changes'
    ) if found.timeless_lsn %}
    {#- where there is a commit, the window's records are checked -#}
    {% do dbt_cdc.raise_cdc_error(
        22859, 'bad log record of ' ~ found.unknown_operation, dbt_cdc._bad_record_advice()
    ) if found.unknown_operation and not found.commits %}
    {% set most_commits = dbt_cdc._most_commits_of_run() or found.most_commits %}
    {% do return(dbt_cdc._fetch(dbt_cdc._log_end_sql(scanned_lsn, most_commits))[0].log_end)
        if found.log_end and most_commits and (found.commits or 0) > most_commits %}
    {% do return(found.log_end) %}
{% endmacro %}


{#- How many transactions this run takes in at most, where it is told so: by variables, as sp_cdc_scan by its
    parameters, or by the agent, which obeys the capture job. -#}
{% macro _most_commits_of_run() %}
    {% set given = {
        'maxtrans': dbt_cdc._number_of_var('cdc_maxtrans'), 'maxscans': dbt_cdc._number_of_var('cdc_maxscans'),
    } %}
    {% do return(env_var('DBT_CDC_MOST_COMMITS', '0') | int) if given.maxtrans is none and given.maxscans is none %}
    {% do dbt_cdc._check_job('capture', given) %}
    {% set job = dbt_cdc._default_jobs().capture %}
    {% do return((given.maxtrans or job.maxtrans) * (given.maxscans or job.maxscans)) %}
{% endmacro %}


{% macro _log_end_sql(scanned_lsn, most_commits=none) -%}
    {%- set bound = dbt_cdc._scan_until() -%}
    with records as (
        select
            lsn,
            record_time,
            {{ dbt_cdc._is_commit() }} as is_commit,
            case when not coalesce(lsn rlike '{{ dbt_cdc._lsn_pattern() }}', false)
                or lsn = '{{ dbt_cdc._zero_lsn() }}' then concat(
                coalesce(concat('table ', source_schema, '.', source_name), 'no table'),
                ', column lsn, tran_id ', coalesce(tran_id, 'NULL'),
                ': the LSN is ', coalesce(concat('\'', lsn, '\''), 'NULL')
            ) end as malformed,
            case when not coalesce(operation in ({{ dbt_cdc._literals(dbt_cdc._operations()) }}), false) then concat(
                coalesce(concat('table ', source_schema, '.', source_name), 'no table'), ', column operation, lsn ',
                lsn, ': the operation is ', coalesce(concat('\'', operation, '\''), 'NULL')
            ) end as unknown_operation
        from {{ dbt_cdc._log_relation() }}
        where
            lsn > '{{ scanned_lsn }}'
            or lsn is null
            or lsn < '{{ dbt_cdc._zero_lsn() }}'
            or lsn > '0x{{ 'F' * 20 }}'
            {%- if scanned_lsn == dbt_cdc._zero_lsn() %}
            or length(lsn) <> 22
            or lsn = '{{ scanned_lsn }}'
            {%- endif %}
    )
    {%- if bound %},

    beyond as (
        select min(lsn) as lsn from records where is_commit and {{ bound }}
    )
    {%- endif %}
    {%- if most_commits %},

    first_commits as (
        select max(lsn) as last_lsn
        from (select lsn from records where is_commit order by lsn limit {{ most_commits }})
    )
    {%- endif %}

    select
        max(
            case when records.is_commit
                {%- if bound %} and records.lsn < coalesce(beyond.lsn, '0xG'){% endif %}
                {%- if most_commits %} and records.lsn <= first_commits.last_lsn{% endif %}
                then records.lsn end
        ) as log_end,
        count_if(records.is_commit) as commits,
        min(if(records.is_commit and records.record_time is null, records.lsn, null)) as timeless_lsn,
        min(records.lsn) as first_lsn,
        min(records.malformed) as malformed,
        min(records.unknown_operation) as unknown_operation,
        {{ dbt_cdc._session_time_zone() }} as time_zone
    from records
    {%- if bound %}
    cross join beyond
    {%- endif %}
    {%- if most_commits %}
    cross join first_commits
    {%- endif %}
{%- endmacro %}


{#- Whether a record ends a transaction: a condition. -#}
{% macro _is_commit() -%}
(operation = 'COMMIT' or (operation in ('DDL', 'TRUNCATE') and tran_id is null))
{%- endmacro %}


{#- What var cdc_scan_until (an LSN or a timestamp) leaves out: the condition of the first commit
    that no longer belongs to the window; none without the variable. -#}
{% macro _scan_until() %}
    {% set bound = var('cdc_scan_until', none) %}
    {% do return(none) if bound is none or bound | string | trim == '' %}
    {% set text = bound | string | trim %}
    {#- YAML reads an LSN without quotes as a number; 20260701 would be one, too -#}
    {% do dbt_cdc.raise_cdc_error(
        313, 'var cdc_scan_until is the number ' ~ text, "put it in quotes: '" ~ dbt_cdc._lsn_text(bound)
        ~ "' if it is an LSN, or 'yyyy-mm-dd hh:mm:ss'"
    ) if bound is integer %}
    {% if modules.re.match('^0[xX]', text) %}
        {% set lsn = dbt_cdc._normalize_lsn(text, 'var cdc_scan_until') %}
        {% do return("lsn > '" ~ lsn ~ "'") %}
    {% endif %}
    {% do return('record_time > ' ~ dbt_cdc._time_literal(
        dbt_cdc._normalize_time(text, 'var cdc_scan_until (an LSN or a time)'))) %}
{% endmacro %}
