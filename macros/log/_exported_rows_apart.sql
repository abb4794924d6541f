{#- What of an export is in no commit, or comes too late for one. -#}

{#- What is in no commit stops the log, and what waits is said. -#}
{% macro _change_table_log_look(tables, lsn_time_mapping, time_zone, log, last_lsn, change_tables, ddl_history) %}
    {% do dbt_cdc._check_session_time_zone() %}
    {% set found = dbt_cdc._fetch(dbt_cdc._exported_rows_apart(
        tables, lsn_time_mapping, time_zone, log, last_lsn
    )) %}
    {% for row in found %}
        {% set what = row.changes ~ ' changes of ' ~ row.tables ~ ', the first at __$start_lsn ' ~ row.first_lsn %}
        {% if row.fate == 'unknown' %}
            {% do dbt_cdc.raise_cdc_error(
                22859, 'change_table_log: ' ~ lsn_time_mapping ~ ' lacks the commits of ' ~ what,
                'export all rows of cdc.lsn_time_mapping; nothing of this batch is in the log'
            ) %}
        {% elif row.fate == 'late' %}
            {% do dbt_cdc.raise_cdc_error(
                22859, 'change_table_log: ' ~ what ~ ' landed when the log had their commits, and are not in it',
                'where the table has come to the argument tables, or another capture instance has taken the place of '
                ~ 'its own, name a view of the change table, with the rows whose __$start_lsn is above ' ~ last_lsn
                ~ '; where they were erased from the log, erase them in the export, too; else export '
                ~ 'cdc.lsn_time_mapping first and the change tables after it, ' ~ dbt_cdc._anew_advice(log)
            ) %}
        {% elif row.fate == 'behind' %}
            {% do dbt_cdc.raise_cdc_error(
                22859, 'change_table_log: ' ~ log ~ ' ends at ' ~ last_lsn ~ ' and lacks ' ~ row.commits
                ~ ' commits below it, the first ' ~ row.first_lsn ~ ', with ' ~ row.changes ~ ' changes of '
                ~ (row.tables or 'no table') ~ ': they landed late, or the LSNs of the source went back (a restored '
                ~ 'backup, CDC enabled anew)',
                'where they landed late, ' ~ dbt_cdc._anew_advice(log)
                ~ '; LSNs that went back need exports, a log and a schema of their own'
            ) %}
        {% elif row.fate == 'waits' %}
            {% do dbt_cdc._log_line(what ~ ', wait for their rows in ' ~ lsn_time_mapping) %}
        {% endif %}
    {% endfor %}
    {% if last_lsn != dbt_cdc._zero_lsn() %}
        {% do dbt_cdc._check_export_goes_on(tables, lsn_time_mapping, change_tables, log, last_lsn,
            (found | selectattr('fate', 'equalto', 'begins') | map(attribute='first_lsn') | list | first)) %}
        {% do dbt_cdc._tell_of_late_ddl(tables, change_tables, ddl_history, time_zone, log, last_lsn)
            if ddl_history %}
    {% endif %}
{% endmacro %}


{#- Changes behind the last commit of lsn_time_mapping wait; those up to there without a commit are unknown; late are
    those at a commit that the log has without them, but for commits that began before the log does. Commits below the
    log's end that it lacks are behind: above its first one, or later than that. `begins`: the first commit, where it is
    behind the log's end. -#}
{% macro _exported_rows_apart(tables, lsn_time_mapping, time_zone, log, last_lsn) -%}
with commits as (
    select distinct
        {{ dbt_cdc._exported_lsn('start_lsn', relation=lsn_time_mapping) | indent(8) }} as commit_lsn,
        {{ dbt_cdc._exported_time('tran_end_time', time_zone, lsn_time_mapping) | indent(8) }} as commit_time
    from {{ lsn_time_mapping }}
),

bounds as (
    select max(commit_lsn) as last_commit from commits
),

changes as (
    {%- for table, relation in tables.items() %}
    select distinct
        {{ dbt_cdc._literal(table) }} as source_table,
        {{ dbt_cdc._exported_lsn('`__$start_lsn`', relation=relation) | indent(8) }} as commit_lsn,
        {{ dbt_cdc._exported_lsn('`__$seqval`', relation=relation) | indent(8) }} as seqval,
        cast(`__$operation` as int) as operation
    from {{ relation }}
    {{ 'union all' if not loop.last }}
    {%- endfor %}
)
{%- if last_lsn != dbt_cdc._zero_lsn() %},

logged_commits as (
    select
        lsn as commit_lsn,
        record_time
    from {{ log }}
    where operation = 'COMMIT'
),

whole_commits as (
    select lsn as commit_lsn
    from {{ log }}
    where
        operation = 'COMMIT'
        and get_json_object(`transaction`, '$.begin_lsn') >= (select min(lsn) from {{ log }})
),

logged as (
    select
        concat(source_schema, '.', source_name) as source_table,
        lsn as seqval,
        explode(case operation
            when 'DELETE' then array(1) when 'INSERT' then array(2) else array(1, 2, 3, 4)
        end) as operation
    from {{ log }}
    where operation not in ('BEGIN', 'COMMIT')
)
{%- endif %}

select
    fate,
    count(distinct source_table, seqval) as changes,
    count(distinct commit_lsn) as commits,
    min(commit_lsn) as first_lsn,
    array_join(array_sort(collect_set(source_table)), ', ') as tables
from (
    select
        changes.*,
        if(changes.commit_lsn <= last_commit, 'unknown', 'waits') as fate
    from changes
    cross join bounds
    left anti join commits on changes.commit_lsn = commits.commit_lsn
    where changes.commit_lsn > '{{ last_lsn }}'
    {%- if last_lsn != dbt_cdc._zero_lsn() %}
    union all
    select
        changes.*,
        'late' as fate
    from changes
    left semi join whole_commits on changes.commit_lsn = whole_commits.commit_lsn
    left anti join logged on changes.source_table = logged.source_table and changes.seqval = logged.seqval
        and changes.operation = logged.operation
    where changes.commit_lsn <= '{{ last_lsn }}'
    union all
    select
        landed.* except (commit_time),
        'behind' as fate
    from (
        select changes.*, null as commit_time from changes
        union all
        select null, commit_lsn, null, null, commit_time from commits
    ) as landed
    left anti join logged_commits on landed.commit_lsn = logged_commits.commit_lsn
    cross join (
        select
            min(commit_lsn) as first_lsn,
            min_by(record_time, commit_lsn) as first_time
        from logged_commits
    )
    where
        landed.commit_lsn <= '{{ last_lsn }}'
        and (landed.commit_lsn > first_lsn or landed.commit_time > first_time)
    union all
    select null, min(commit_lsn), null, null, 'begins' from commits having min(commit_lsn) > '{{ last_lsn }}'
    {%- endif %}
)
group by fate
order by fate
{%- endmacro %}
