{#- The DDL of SQL Server's captured tables, as an export of cdc.ddl_history has it: a row for each statement and
    capture instance, at the LSN of its commit. -#}

{% macro _exported_check_ddl(change_tables, ddl_history) %}
    {% do dbt_cdc.raise_cdc_error(
        22963, 'change_table_log: ' ~ ddl_history ~ ' names capture instances by object_id',
        'give change_tables, the exported cdc.change_tables, too'
    ) if ddl_history and not change_tables %}
    {% do dbt_cdc._exported_types(change_tables, ['object_id', 'capture_instance']) if ddl_history %}
    {% do dbt_cdc._exported_types(ddl_history, ['object_id', 'ddl_command', 'ddl_lsn', 'ddl_time']) if ddl_history %}
{% endmacro %}


{#- CTE `ddl`: each statement once for each table; those of a table at one LSN are one. `number` tells tables at one LSN
    apart. -#}
{% macro _exported_ddl(tables, change_tables, ddl_history, time_zone) -%}
{%- set instances = [] -%}
{%- for table, relation in tables.items() -%}
    {%- do instances.append('(' ~ dbt_cdc._literals(
        [dbt_cdc._exported_instance(relation) | lower] + table.split('.')) ~ ')') -%}
{%- endfor -%}
ddl as (
    select
        *,
        row_number() over (partition by ddl_lsn order by source_schema, source_name) as number
    from (
        select
            col2 as source_schema,
            col3 as source_name,
            {{ dbt_cdc._exported_lsn('ddl_lsn', relation=ddl_history) | indent(12) }} as ddl_lsn,
            min({{ dbt_cdc._exported_time('ddl_time', time_zone, ddl_history) | indent(12) }}) as ddl_time,
            array_join(array_sort(collect_set(ddl_command)), '; ') as ddl_command
        from {{ ddl_history }} as history
        inner join {{ change_tables }} as instances on history.object_id = instances.object_id
        inner join values
            {{ instances | join(',\n            ') }}
            on col1 = lower(capture_instance)
        group by source_schema, source_name, ddl_lsn
    )
)
{%- endmacro %}


{#- Those of the records, behind an LSN, from the first commit up to the last: an older one, which SQL Server keeps,
    would be the log's beginning. One at the LSN of a commit is of its transaction. -#}
{% macro _exported_ddl_records(last_lsn) -%}
select
    ddl_lsn,
    tran_id,
    'DDL',
    ddl_time,
    source_schema,
    source_name,
    null,
    null,
    ddl_command,
    number,
    null
from ddl
left join commits on ddl_lsn = commit_lsn
cross join (select min(commit_lsn) as first_commit, max(commit_lsn) as last_commit from commits)
where ddl_lsn > '{{ last_lsn }}' and ddl_lsn between first_commit and last_commit
{%- endmacro %}


{#- For the summary of the commits. -#}
{% macro _exported_ddl_of_commits() -%}
left join (
    select
        ddl_lsn as commit_lsn,
        array_sort(collect_list({{ dbt_cdc._schema_change(
            lsn='ddl_lsn', record_time='cast(ddl_time as string)', operation="'DDL'") | indent(8) }})) as schema_changes
    from ddl
    group by ddl_lsn
) as altered using (commit_lsn)
{%- endmacro %}


{#- What landed when the log had later commits. -#}
{% macro _tell_of_late_ddl(tables, change_tables, ddl_history, time_zone, log, last_lsn) %}
    {% set late = dbt_cdc._fetch(
        'with ' ~ dbt_cdc._exported_ddl(tables, change_tables, ddl_history, time_zone)
        ~ ' select count(*) as statements, min(ddl_lsn) as first_lsn from ddl left anti join ' ~ log ~ ' as log on '
        ~ "operation = 'DDL' and lsn = ddl_lsn and log.source_schema = ddl.source_schema and log.source_name = "
        ~ "ddl.source_name where ddl_lsn <= '" ~ last_lsn ~ "' and ddl_lsn >= (select min(lsn) from " ~ log
        ~ " where operation = 'COMMIT')")[0] %}
    {% do dbt_cdc._log_line(
        late.statements ~ ' statements of ' ~ ddl_history ~ ' landed when the log had later commits, and are not in '
        ~ 'it, the first at ' ~ late.first_lsn
    ) if late.statements %}
{% endmacro %}
