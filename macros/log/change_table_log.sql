{#- The canonical log out of SQL Server's own change tables, as they are exported: the body of an incremental (append)
    model. `__$start_lsn` is the LSN of the COMMIT, `__$seqval` that of the change.
    `_log.yml` tells the arguments. -#}
{% macro change_table_log(
    tables, lsn_time_mapping, time_zone='UTC', change_tables=none, ddl_history=none
) -%}
    {{- config(meta={'cdc_connector': 'sqlserver'}) -}}
    {%- do dbt_cdc._change_table_log_check(tables, [lsn_time_mapping, change_tables, ddl_history]) -%}
    {%- do dbt_cdc._exported_check_ddl(change_tables, ddl_history) -%}
    {%- set is_incremental = execute and is_incremental() -%}
    {%- set last_lsn = dbt_cdc._told_log_end(this, 'change_table_log') if is_incremental else dbt_cdc._zero_lsn() -%}
    {%- do dbt_cdc._change_table_log_look(
        tables, lsn_time_mapping, time_zone, this, last_lsn, change_tables, ddl_history
    ) if dbt_cdc._is_building() -%}
with {{ dbt_cdc._exported_commits(lsn_time_mapping, time_zone) }},

{{ dbt_cdc._exported_changes(tables, last_lsn) }},

{% if ddl_history -%}
{{ dbt_cdc._exported_ddl(tables, change_tables, ddl_history, time_zone) }},

{% endif -%}
{{ dbt_cdc._exported_records(last_lsn, ddl_history) }}

select * from records
{{- dbt_cdc._appended_once("lsn > '" ~ last_lsn ~ "' and operation = 'COMMIT'") if is_incremental }}
{%- endmacro %}


{% macro _change_table_log_check(tables, others) %}
    {#- a view would show changes that come late at a commit that was captured, and no scan would see them -#}
    {% do dbt_cdc._raise_not_incremental('change_table_log')
        if execute and config.get('materialized') != 'incremental' %}
    {% do dbt_cdc._check_gives_relations(
        'change_table_log', 'tables', tables,
        "give each source table its change table: {'dbo.orders': source('sqlserver', 'dbo_orders_CT')}"
    ) %}
    {% do dbt_cdc._check_is_no_own_table(tables.values() | list + others) if execute %}
    {% for relation in tables.values() %}
        {% do dbt_cdc._exported_columns(relation) %}
        {% do dbt_cdc._log_line(
            relation ~ ' lacks __$command_id: the order within a transaction is that of __$seqval, which is not always '
            ~ "the source's; export the table itself, as the functions of SQL Server leave the column out"
        ) if dbt_cdc._is_building() and not dbt_cdc._exported_has(relation, '__$command_id') %}
    {% endfor %}
{% endmacro %}


{#- An export has the names of SQL Server, and so has what is made of it: in one schema they are the same tables. -#}
{% macro _check_is_no_own_table(relations) %}
    {% set own = {} %}
    {% for node in graph.nodes.values() if node.package_name == 'dbt_cdc' or dbt_cdc._is_of_capture(node) %}
        {% do own.update({(node.schema ~ '.' ~ node.alias) | lower: node.database}) %}
    {% endfor %}
    {% for relation in relations if relation %}
        {% set name = relation.schema ~ '.' ~ relation.identifier %}
        {% do dbt_cdc._raise_export_is_own(name)
            if name | lower in own and dbt_cdc._is_one_catalog(own[name | lower], relation.database) %}
    {% endfor %}
{% endmacro %}


{#- A name of a database that is not given is that of the target. -#}
{% macro _is_one_catalog(one, other) %}
    {% do return((one or target.database or '') | lower == (other or target.database or '') | lower) %}
{% endmacro %}


{% macro _raise_export_is_own(name) %}
    {% do dbt_cdc.raise_cdc_error(
        22906, 'the export has ' ~ name ~ ', in the schema where change data capture has a table of that name of its '
        ~ 'own', 'land the export in another schema, or give the target another'
    ) %}
{% endmacro %}


{#- CTE `commits`: a row for each commit of lsn_time_mapping. An export may hold one twice. -#}
{% macro _exported_commits(lsn_time_mapping, time_zone='UTC') -%}
{%- set types = dbt_cdc._exported_types(lsn_time_mapping, [
    'start_lsn', 'tran_begin_time', 'tran_end_time', 'tran_id', 'tran_begin_lsn']) -%}
commits as (
    select
        commit_lsn,
        min(tran_id) as tran_id,
        min(begin_lsn) as begin_lsn,
        min(begin_time) as begin_time,
        min(commit_time) as commit_time
    from (
        select
            {{ dbt_cdc._exported_lsn('start_lsn', relation=lsn_time_mapping) | indent(12) }} as commit_lsn,
            {{ dbt_cdc._exported_bytes('tran_id', types.tran_id) | indent(12) }} as tran_id,
            {{ dbt_cdc._exported_lsn('tran_begin_lsn', relation=lsn_time_mapping) | indent(12) }} as begin_lsn,
            {{ dbt_cdc._exported_time('tran_begin_time', time_zone, lsn_time_mapping) | indent(12) }} as begin_time,
            {{ dbt_cdc._exported_time('tran_end_time', time_zone, lsn_time_mapping) | indent(12) }} as commit_time
        from {{ lsn_time_mapping }}
    )
    group by commit_lsn
)
{%- endmacro %}


{#- CTE `changes`: a row for each change after an LSN. An update has two rows in a change table, and so has one that
    changes the key, a delete and an insert. SQL Server leaves a large value that an update does not change out of its
    first row: the mask tells. -#}
{% macro _exported_changes(tables, last_lsn) -%}
changes as (
    {%- for table, relation in tables.items() %}
    {%- set captured = dbt_cdc._exported_columns(relation) %}
    {%- set names = captured | map(attribute='name') | list %}
    select
        {{ dbt_cdc._literal(table.split('.')[0]) }} as source_schema,
        {{ dbt_cdc._literal(table.split('.')[1]) }} as source_name,
        commit_lsn,
        seqval,
        command_id,
        operations,
        copies,
        mask,
        {{ dbt_cdc._exported_full_mask(names | length) }} as full_mask,
        {{ dbt_cdc._indent(dbt_cdc._exported_is_displaced(captured), 8) }} as is_displaced,
        {%- set has_large = dbt_cdc._exported_has_large(captured) %}
        {{ 'aggregate(' ~ dbt_cdc._indent(dbt_cdc._exported_cleared(captured), 8) ~ ', ' if has_large -}}
        to_json(named_struct(
            {%- for column in captured %}
            {{ dbt_cdc._literal(column.name) }}, {{ dbt_cdc._exported_before(column, loop.index0) }}
            {{- ',' if not loop.last }}
            {%- endfor %}
        ), map('ignoreNullFields', 'false'))
        {{- ", (text, member) -> replace(replace(text, concat(',', member), ''), concat(member, ','), ''))"
            if has_large }} as before_image,
        to_json(after, map('ignoreNullFields', 'false')) as after_image
    from (
        select
            commit_lsn,
            seqval,
            command_id,
            array_sort(collect_set(operation)) as operations,
            max(copies) as copies,
            any_value(mask, true) as mask,
            any_value(case when operation in (1, 3) then image end, true) as before,
            any_value(case when operation in (2, 4) then image end, true) as after
        from (
            select
                commit_lsn,
                seqval,
                command_id,
                operation,
                image,
                max(mask) as mask,
                count(*) over (partition by commit_lsn, seqval, command_id, operation) as copies
            from (
                select
                    {{ dbt_cdc._exported_lsn('`__$start_lsn`', relation=relation) | indent(20) }} as commit_lsn,
                    {{ dbt_cdc._exported_lsn('`__$seqval`', relation=relation) | indent(20) }} as seqval,
                    {{ 'cast(`__$command_id` as int)' if dbt_cdc._exported_has(relation, '__$command_id')
                        else 'cast(null as int)' }} as command_id,
                    cast(`__$operation` as int) as operation,
                    {{ dbt_cdc._exported_mask(relation, names | length) | indent(20) }} as mask,
                    {{ dbt_cdc._indent(dbt_cdc._exported_struct(captured), 20) }} as image
                from {{ relation }}
            )
            where commit_lsn > '{{ last_lsn }}'
            group by commit_lsn, seqval, command_id, operation, image
        )
        group by commit_lsn, seqval, command_id
    )
    {{ 'union all' if not loop.last }}
    {%- endfor %}
)
{%- endmacro %}


{#- CTE `records`: the canonical log. -#}
{% macro _exported_records(last_lsn, ddl_history) -%}
{%- set place = "concat('table ', source_schema, '.', source_name, ', __$start_lsn ', commit_lsn, ', __$seqval ', "
    ~ "seqval)" -%}
checked as (
    select
        changes.*,
        commits.commit_lsn is not null as is_committed,
        tran_id,
        commit_time,
        case
            when copies > 1 then {{ dbt_cdc._raise_bad_record(
                place, "concat(cast(copies as string), ' rows of it differ')",
                'export the change table anew: its rows never change') | indent(16) }}
            when is_displaced or not if(
                operations = array(3, 4),
                coalesce(length(mask) = length(full_mask) and mask <= full_mask, false),
                mask <=> full_mask
            ) then {{ dbt_cdc._raise_bad_record(
                place,
                "concat('its __$update_mask is ', coalesce(mask, 'NULL'), ', and that of the captured columns of the "
                ~ "export is ', full_mask)",
                'export all captured columns, no others, in the order of the change table'
            ) | indent(16) }}
            when operations = array(1) then 'DELETE'
            when operations = array(2) then 'INSERT'
            when operations in (array(3, 4), array(1, 2)) then 'UPDATE'
            else {{ dbt_cdc._raise_bad_record(
                place, "concat('it has rows of __$operation ', array_join(operations, ', '), ' alone')",
                'export the change table itself, with both rows of an update, and no net changes') | indent(16) }}
        end as operation
    from changes
    left join commits using (commit_lsn)
),

transactions as (
    select
        commit_lsn,
        min(seqval) as first_lsn,
        count(seqval) as changes,
        {{- dbt_cdc._tables_by_operation() }}
    from checked
    group by commit_lsn
),

records as (
    select
        seqval as lsn,
        tran_id,
        operation,
        commit_time as record_time,
        source_schema,
        source_name,
        case when operation <> 'INSERT' then before_image end as before_image,
        case when operation <> 'DELETE' then after_image end as after_image,
        cast(null as string) as ddl_command,
        command_id,
        cast(null as string) as `transaction`
    from checked
    where is_committed
    union all
    select
        begin_lsn,
        tran_id,
        'BEGIN',
        begin_time,
        null,
        null,
        null,
        null,
        null,
        null,
        null
    from commits
    inner join transactions using (commit_lsn)
    where begin_lsn < first_lsn
    union all
    select
        commit_lsn,
        tran_id,
        'COMMIT',
        commit_time,
        null,
        null,
        null,
        null,
        null,
        null,
        {{ dbt_cdc._transaction_summary(
            'if(first_lsn is null, commit_lsn, least(begin_lsn, first_lsn))',
            'coalesce(changes, 0) + 1 + coalesce(cast(begin_lsn < first_lsn as int), 0)',
            'coalesce(inserted, array())', 'coalesce(deleted, array())', 'coalesce(updated, array())',
            'coalesce(schema_changes, array())' if ddl_history else 'array()'
        ) | indent(8) }}
    from commits
    left join transactions using (commit_lsn)
    {%- if ddl_history %}
    {{ dbt_cdc._exported_ddl_of_commits() | indent(4) }}
    {%- endif %}
    where commit_lsn > '{{ last_lsn }}'
    {%- if ddl_history %}
    union all
    {{ dbt_cdc._exported_ddl_records(last_lsn) | indent(4) }}
    {%- endif %}
)
{%- endmacro %}
