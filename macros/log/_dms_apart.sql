{#- Rows by fate: those that are not in the log, below its end (late), or of a transaction that is in it (cut); those
    that the log has otherwise (other); full loads that are not those that the log took in; rows that wait. -#}
{% macro _dms_rows_apart(batch) -%}
{%- set is_first = batch.last_lsn == dbt_cdc._zero_lsn() -%}
{%- set goes_on = not is_first and dbt_cdc._dms_has_ids(batch) -%}
with {{ dbt_cdc._dms_landed_and_logged(batch, is_first) }}
{%- if not is_first %},

{% if goes_on -%}
-- the transaction that the log has last, where what comes next is of it, too
cut as (
    select
        last_id,
        last_hundredths
    from (
        select
            max_by(transaction_id, if(is_read, lsn, null)) as last_id,
            min_by(transaction_id, if(is_read, null, lsn)) as next_id,
            max(if(is_read, hundredths, null)) as last_hundredths,
            min(if(is_read, null, hundredths)) as next_hundredths
        from (select *, lsn <= '{{ batch.last_lsn }}' as is_read from changes where change_seq is not null)
    )
    where last_id = next_id and next_hundredths - last_hundredths <= 100 and {{ dbt_cdc._dms_tells_ids() | indent(4) }}
),

{% endif -%}
full_loads as (
    select
        source_table,
        sum(landed_rows) as landed_rows,
        sum(taken_rows) as taken_rows
    from (
        select
            concat(source_schema, '.', source_name) as source_table,
            1 as landed_rows,
            0 as taken_rows,
            {{ dbt_cdc._dms_content('image') }} as content
        from placed
        where change_seq is null
        union all
        select
            source_table,
            0,
            1,
            {{ dbt_cdc._dms_content('after_image') }}
        from logged
        where lsn < '{{ '0x%010X' | format(2) }}0000000000'
    )
    group by source_table
    having
        sum(landed_rows) > 0
        and (
            sum(landed_rows) <> sum(taken_rows)
            or sum(if(landed_rows = 1, content, 0)) <> sum(if(taken_rows = 1, content, 0))
        )
)
{%- endif %}

select
    'waits' as fate,
    count(*) as changes,
    cast(null as bigint) as taken,
    array_join(slice(array_sort(collect_set(change_seq)), 1, 20), ', ') as places,
    array_join(array_sort(collect_set(source_table)), ', ') as tables
from changes
where hundredths > {{ dbt_cdc._dms_settled(batch) }}
having count(*) > 0
{%- if not is_first %}
union all
select
    case
        when is_logged then 'other'
        when apart.lsn <= '{{ batch.last_lsn }}' and beside.hundredth is null then 'late'
        else 'cut'
    end as fate,
    count(*) as changes,
    null as taken,
    array_join(slice(array_sort(collect_set(change_seq)), 1, 20), ', ') as places,
    array_join(array_sort(collect_set(source_table)), ', ') as tables
from (
    select
        changes.*,
        logged.lsn is not null as is_logged
    from changes
    left join logged on changes.lsn = logged.lsn and changes.source_table = logged.source_table
    where
        change_seq is not null
        and if(
            logged.lsn is null,
            changes.lsn <= '{{ batch.last_lsn }}'
            {%- if goes_on %}
            or exists (
                select 1 from cut
                where changes.transaction_id = last_id and changes.hundredths - last_hundredths between 0 and 100
            )
            {%- endif %},
            {{ dbt_cdc._dms_is_other() | indent(12) }}
        )
) as apart
-- what is of one hundredth is one transaction, whose COMMIT is the same with them
left join (select distinct left(lsn, 12) as hundredth from logged) as beside on left(apart.lsn, 12) = beside.hundredth
group by 1
union all
select
    'full load' as fate,
    landed_rows as changes,
    taken_rows as taken,
    null as places,
    source_table as tables
from full_loads
{%- endif %}
order by fate
{%- endmacro %}


{#- CTEs `changes` that have landed and, but for a first run, `logged`. -#}
{% macro _dms_landed_and_logged(batch, is_first) -%}
{{ dbt_cdc._dms_rows(batch) }},

changes as (
    select
        concat(source_schema, '.', source_name) as source_table,
        change_seq,
        hundredths,
        transaction_id,
        {{ dbt_cdc._dms_lsn('hundredths', 'number') }} as lsn,
        operation,
        image
    from placed
    -- whose operation is looked at, too
    where operation is not null
)
{%- if not is_first %},

logged as (
    select
        concat(source_schema, '.', source_name) as source_table,
        lsn,
        operation as logged_operation,
        before_image,
        after_image
    from {{ batch.log }}
    where operation <> 'COMMIT'
)
{%- endif %}
{%- endmacro %}


{#- Whether late rows are of a transaction that the log has in part, over a few hundredths of a second. -#}
{% macro _dms_late_of_logged(batch) -%}
with {{ dbt_cdc._dms_landed_and_logged(batch, false) }},

marked as (
    select
        changes.transaction_id,
        changes.hundredths,
        changes.lsn,
        logged.lsn is not null as is_logged
    from changes
    left join logged on changes.lsn = logged.lsn and changes.source_table = logged.source_table
    where changes.change_seq is not null
)

select 1
from marked as late
inner join marked as beside
    on late.transaction_id = beside.transaction_id and abs(late.hundredths - beside.hundredths) <= 100
where
    not late.is_logged
    and late.lsn <= '{{ batch.last_lsn }}'
    and beside.is_logged
    and {{ dbt_cdc._dms_tells_ids() | indent(4) }}
limit 1
{%- endmacro %}


{#- Whether a landed row is another one than the log has at its place. -#}
{% macro _dms_is_other() -%}
{%- set logged_image = "if(operation in ('BEFORE', 'DELETE'), before_image, after_image)" -%}
if(operation = 'BEFORE', 'UPDATE', operation) <> logged_operation
or operation <> 'TRUNCATE'
and image <> {{ logged_image }}
and {{ dbt_cdc._dms_content('image') }} <> {{ dbt_cdc._dms_content(logged_image) }}
{%- endmacro %}


{#- A number of what an image says, in whatever order: a column that came later is NULL in the rows that were there. -#}
{% macro _dms_content(image) -%}
cast(xxhash64(array_sort(map_entries(map_filter(
    from_json({{ image }}, 'map<string, string>'), (name, value) -> value is not null
)))) as decimal(38, 0))
{%- endmacro %}
