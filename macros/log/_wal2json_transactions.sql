{#- CTE `attempts`: wal2json sends a transaction whole, from B to C; where its receiver was cut off, it sends it again
    from its B. The lines of an attempt are those of its xid from its B up to the next B of this xid. -#}
{% macro _wal2json_attempts(batch) -%}
opened as (
    select
        *,
        {{ dbt_cdc._wal2json_operation() | indent(8) }} as operation,
        max(case when action = 'B' then position end) over so_far as begin_position,
        count_if(action in ('I', 'U', 'D', 'T')) over so_far as changes_so_far,
        {{- "\n        count_if(action = 'B') over (partition by xid) > 1 as comes_again," if batch.has_repeats }}
        max(position) over (
            partition by xid order by position rows between unbounded preceding and 1 preceding
        ) as position_before
    from lines
    where xid <> ''
    window so_far as (partition by xid order by position rows between unbounded preceding and current row)
),

attempts as (
    select
        xid,
        begin_position,
        max(case when action = 'B' then wal end) as commit_number,
        max(case when action = 'C' then wal end) as end_number,
        min(position) as first_position,
        max(position) as last_position,
        min(case when action = 'C' then position end) as end_position,
        count_if(position = position_before) as copied_positions,
        count_if(action in ('I', 'U', 'D', 'T')) as changes,
        -- of attempts before it
        min(changes_so_far) as other_changes,
        {{- dbt_cdc._tables_by_operation() }},
        array_sort(collect_list(
            case when action = 'T' then struct(changes_so_far as ordinal, source_schema, source_name) end
        )) as emptied
        {%- if batch.has_repeats %},
        transform(
            array_sort(collect_list(
                case when comes_again and action in ('I', 'U', 'D', 'T') then struct(changes_so_far, content) end
            )), change -> change.content
        ) as contents
        {%- endif %}
    from opened
    group by xid, begin_position
)
{%- endmacro %}


{#- CTE `emitted_transactions`: of each new transaction with changes the first whole attempt; where there is none, the
    last one without changes, so that the next run reads on behind it. What shows that lines are missing or
    mixed up stops the log, with the first `problem`. -#}
{% macro _wal2json_transactions(events, batch) -%}
told as (
    select
        *,
        concat_ws(':', xid, commit_number) as name,
        case
            when {{ dbt_cdc._is_given_up() }} then 'given up'
            when commit_number <= {{ batch.last_commit }} then 'in the log'
            -- which the log has none of, so nothing tells whether it comes again
            when changes = 0 and end_position is not null then 'empty'
            else 'new'
        end as fate
    from attempts
),

compared as (
    select
        *,
        max(struct(last_position, name)) over in_order as before_it,
        max(case when fate in ('new', 'empty') then commit_number end) over (
            order by first_position desc rows between unbounded preceding and 1 preceding
        ) as later_commit,
        min(case when end_position is not null then begin_position end) over same_commit as chosen,
        max(begin_position) over same_commit as last_attempt,
        min(first_position) over same_commit as first_of_commit,
        min(xid) over same_commit <> max(xid) over same_commit as has_other_xid,
        max(end_position) over (partition by xid, commit_number) as whole_end
        {%- if batch.has_repeats %},
        min_by(contents, case when end_position is not null then begin_position end) over same_commit as whole_contents
        {%- endif %}
    from told
    window
        in_order as (order by first_position rows between unbounded preceding and 1 preceding),
        same_commit as (partition by fate, commit_number)
),

checked as (
    select
        *,
        begin_position = chosen and (
            fate = 'new'
            {%- if batch.is_bounded %}
            or fate = 'empty'
            and max(if(fate = 'new', chosen, null)) over () is null
            and commit_number = max(if(fate = 'empty', commit_number, null)) over ()
            {%- endif %}
        ) as is_emitted,
        case when fate <> 'given up' then {{ dbt_cdc._wal2json_problem(events, batch) | indent(8) }} end as problem
    from (
        select
            *,
            min(first_of_commit) over (
                partition by fate order by commit_number desc range between unbounded preceding and 1 preceding
            ) as first_of_later
        from compared
    )
),

emitted_transactions as (
    select
        xid,
        commit_number,
        -- by which lines are joined, so that the error comes also where nothing else does
        case
            when first_problem is not null
                then {{ dbt_cdc._raise_bad_record(
                    "concat('transaction ', first_problem.name)", 'first_problem.problem',
                    dbt_cdc._give_up_advice('correct the lines')
                ) | indent(16) }}
            else begin_position
        end as begin_position,
        coalesce(end_position, last_position) as end_position,
        changes,
        inserted,
        deleted,
        updated,
        emptied,
        other_changes,
        case
            when (1 + changes) div {{ 2 ** 24 }} >= commit_number - previous_commit
                then {{ dbt_cdc._raise_bad_record(
                    "concat('transaction ', xid, ':', commit_number)",
                    "concat('it has ', changes, ' changes, more than there is room for before its commit')",
                    dbt_cdc._give_up_advice('correct the lines')
                ) | indent(16) }}
            else previous_commit
        end as previous_commit
    from (
        select
            *,
            coalesce(
                max(case when is_emitted then commit_number end) over (
                    order by commit_number rows between unbounded preceding and 1 preceding
                ),
                {{ batch.last_commit or dbt_cdc._debezium_snapshot_commit() }}
            ) as previous_commit,
            min_by(struct(name, problem), case when problem is not null then first_position end) over ()
                as first_problem
        from checked
    )
    where is_emitted or first_problem is not null
)
{%- endmacro %}


{#- What is wrong with an attempt, as text; NULL where nothing is. -#}
{% macro _wal2json_problem(events, batch) -%}
case
    when begin_position is null
        then concat(
            'its lines, from position ', first_position, ' on, have no B before them: wal2json was started with '
            || 'include-transaction=false, or the first lines have not landed'
        )
    when copied_positions > 0
        then concat('two lines have one position, between ', first_position, ' and ', last_position)
    when before_it.last_position >= first_position
        then concat(
            'its lines, from position ', first_position, ' on, are among those of transaction ', before_it.name,
            ': lines of two slots have landed together, or in another order than they were sent'
        )
    when last_position > end_position
        then concat('a line of it follows its C, at position ', last_position, ': its B has not landed')
    when end_number <> commit_number
        then concat('its C, at position ', end_position, ', has another nextlsn than its B')
    when fate = 'in the log'
        then null
    when has_other_xid
        then 'another transaction has the same nextlsn'
    when first_of_later < first_of_commit
        then concat(
            'it landed at position ', first_position, ', behind a transaction that committed later: LSNs of the source '
            || 'went back (a restored backup, a failover, a new cluster), whose lines need a log and a schema of their '
            || 'own, or it landed late: then put it where it committed, ',
            {{ dbt_cdc._wal2json_move(events) | indent(12) }},
            {{ dbt_cdc._literal(
                ', and write the log anew, dbt run --full-refresh --select ' ~ dbt_cdc._selected(this)) }}
        )
    {%- if batch.has_repeats %}
    when contents <> if(end_position is null, slice(whole_contents, 1, changes), whole_contents)
        then concat(
            'it came more than once, and its lines from position ', first_position, ' on differ from those of the '
            || 'whole one'
        )
    {%- endif %}
    when
        end_position is null and begin_position = last_attempt and chosen is null and later_commit > commit_number
        -- one without changes that was cut right after its B is no copy of what came whole
        and whole_end is null
        then concat(
            'its C has not landed, and lines behind its last one, at position ', last_position, ', are of later '
            || 'transactions: lines are missing; land the whole transaction again, behind the last position'
        )
end
{%- endmacro %}


{#- The command, as SQL, that puts an attempt before the first transaction that committed later: those before that one
    move down as far, since the next lines to land count on from the last position. -#}
{% macro _wal2json_move(events) -%}
printf(
    {{ dbt_cdc._literal(dbt_cdc._landing_statement(
        'update ' ~ events ~ ' set position = position - %s where position < %s or position between %s and %s')) }},
    last_position - first_of_later + 1, first_of_later, first_position, last_position
)
{%- endmacro %}


{#- CTE `records`: the canonical log, numbered as debezium_log does. -#}
{% macro _wal2json_records(batch) -%}
changes as (
    select /*+ broadcast(emitted_transactions) */
        lines.*,
        emitted_transactions.* except (xid),
        count_if(action not in ('B', 'M')) over (
            partition by lines.xid, begin_position order by position
            rows between unbounded preceding and current row
        ) as ordinal
    from lines
    inner join emitted_transactions
        on lines.xid = emitted_transactions.xid and position between begin_position and end_position
    where action <> 'M'
),

placed as (
    select
        *,
        {{ dbt_cdc._wal2json_operation() | indent(8) }} as operation,
        record_time as begin_time,
        if(action = 'C', commit_number, previous_commit + (1 + ordinal) div {{ 2 ** 24 }}) as high,
        if(action = 'C', 0, (1 + ordinal) % {{ 2 ** 24 }}) as low
    from changes
),

records as (
    select
        {{ dbt_cdc._debezium_lsn_sql('high', 'low') }} as lsn,
        xid as tran_id,
        operation,
        record_time,
        source_schema,
        source_name,
        before as before_image,
        after as after_image,
        cast(null as string) as ddl_command,
        cast(null as int) as command_id,
        encodings,
        case when source_name is not null then wal end as source_lsn,
        case when action = 'C' then changes end as events,
        case when action = 'C' then {{ dbt_cdc._wal2json_balance(batch) }} end as balance,
        {{ dbt_cdc._wal2json_told_summary() | indent(8) }} as `transaction`,
        position,
        {{ 'cast(null as bigint)' if batch.resume_position is none else batch.resume_position ~ 'L' }}
            as resume_position
    from placed
)
{%- endmacro %}


{% macro _wal2json_operation() -%}
case action
    when 'B' then 'BEGIN'
    when 'C' then 'COMMIT'
    when 'I' then 'INSERT'
    when 'U' then 'UPDATE'
    when 'D' then 'DELETE'
    when 'T' then 'TRUNCATE'
end
{%- endmacro %}


{#- The column `transaction` of a COMMIT, as told_transactions.sql reads it. -#}
{% macro _wal2json_told_summary() -%}
{%- set truncates -%}
transform(emptied, truncate -> {{ dbt_cdc._schema_change(
        'truncate.',
        dbt_cdc._debezium_lsn_sql(
            'previous_commit + (1 + truncate.ordinal - other_changes) div ' ~ 2 ** 24,
            '(1 + truncate.ordinal - other_changes) % ' ~ 2 ** 24),
        'cast(record_time as string)', "'TRUNCATE'"
    ) }})
{%- endset -%}
case when action = 'C' then {{ dbt_cdc._transaction_summary(
    dbt_cdc._debezium_lsn_sql('previous_commit', '1'), 'changes + 2', 'inserted', 'deleted', 'updated', truncates
) }} end
{%- endmacro %}


{#- How many lines have landed up to the position that the next run reads on from, as JSON. -#}
{% macro _wal2json_balance(batch) -%}
{%- if batch.resume_position is none -%} cast(null as string)
{%- else -%} '{{ tojson({
    'read_position': batch.resume_position, 'landed': batch.landed, 'copies': batch.copies, 'places': batch.places,
    'low_position': batch.low_position,
}) }}'
{%- endif -%}
{%- endmacro %}
