{#- CTE `changes`: a row for each change behind the log's end. A 'B' row is the image before the update at its place. A
    row that landed twice counts once. -#}
{% macro _dms_changes(batch) -%}
{%- set is_first = batch.last_lsn == dbt_cdc._zero_lsn() -%}
{%- set place = "concat('table ', found[0].source_schema, '.', found[0].source_name, ', change_seq ', "
    ~ "found[0].change_seq)" -%}
rows_of_changes as (
    select
        hundredths,
        number,
        any_value(transaction_id, true) as transaction_id,
        array_sort(collect_set(struct(
            operation, source_schema, source_name, change_seq, image, key_image
        ))) as found
    from placed
    where change_seq is not null and {{ dbt_cdc._dms_lsn('hundredths', 'number') }} > '{{ batch.last_lsn }}'
    group by hundredths, number
),

changes as (
    select
        hundredths,
        number,
        transaction_id,
        case
            when
                found[0].source_schema <> element_at(found, -1).source_schema
                or found[0].source_name <> element_at(found, -1).source_name
                then {{ dbt_cdc._raise_bad_record(
                    place, "concat('table ', element_at(found, -1).source_schema, '.', "
                    ~ "element_at(found, -1).source_name, ' has it, too: rows of two tasks have landed together')",
                    'give each task a log and a schema of its own'
                ) | indent(16) }}
            when operations in (array('INSERT'), array('DELETE'), array('TRUNCATE')) then operations[0]
            when operations = array('BEFORE', 'UPDATE') then 'UPDATE'
            when operations = array('UPDATE') and found[0].key_image is not null then 'UPDATE'
            when operations = array('UPDATE')
                then {{ dbt_cdc._raise_bad_record(
                    place, "'the image before the update has not landed'",
                    "store before images in the task, or give the table's key where it has none: "
                    ~ "keys={'dbo.orders': ['order_id']}"
                ) | indent(16) }}
            else {{ dbt_cdc._raise_bad_record(
                place, "concat('it has rows of ', array_join(operations, ', '))",
                'a change is one row of I, D, T or U, or one of B and one of U'
            ) | indent(12) }}
        end as operation,
        found[0].source_schema as source_schema,
        found[0].source_name as source_name,
        if(operations[0] = 'UPDATE', found[0].key_image, found[0].image) as before_image,
        element_at(found, -1).image as after_image
    from (
        select
            *,
            transform(found, row -> row.operation) as operations
        from rows_of_changes
    )
)
{%- if is_first %},

-- in 4,096 parts, so that no sort has all rows
full_load as (
    select
        1 as hundredths,
        bucket * {{ 2 ** 28 }}L
        + row_number() over (partition by bucket order by source_schema, source_name, image) as number,
        source_schema,
        source_name,
        image
    from (
        select
            *,
            pmod(xxhash64(image), 4096) as bucket
        from placed
        where change_seq is null
    )
)
{%- endif %}
{%- endmacro %}


{% macro _dms_has_ids(batch) %}
    {% set found = [batch.messages is not none] %}
    {% for relation in batch.tables.values() %}
        {% do found.append('transaction_id' in dbt_cdc._dms_columns(relation, batch.headers)) %}
    {% endfor %}
    {% do return(true in found) %}
{% endmacro %}


{#- Whether ids tell transactions apart. One that all rows have is that of a transaction that landed alone; over more
    than a minute it is none. -#}
{% macro _dms_tells_ids() -%}
(
    select min(transaction_id) <> max(transaction_id) or max(hundredths) - min(hundredths) <= 6000
    from placed
    where change_seq is not null
)
{%- endmacro %}


{#- CTE `committed`: the changes of whole transactions. What was committed in the same hundredth of a second is one, and
    so are two, less than a second apart, over which one transaction goes on. -#}
{% macro _dms_committed(batch) -%}
{%- set has_ids = dbt_cdc._dms_has_ids(batch) -%}
{%- if has_ids -%}
spans as (
    select
        hundredths,
        min(case when not goes_on then hundredths end) over (
            order by hundredths desc rows between unbounded preceding and current row
        ) as commit_hundredths
    from (
        select
            hundredths,
            coalesce(
                last_id = lead(first_id) over in_order
                and (lead(hundredths) over in_order) - hundredths <= 100
                and {{ dbt_cdc._dms_tells_ids() | indent(16) }},
                false
            ) as goes_on
        from (
            select
                hundredths,
                min_by(transaction_id, number) as first_id,
                max_by(transaction_id, number) as last_id
            from changes
            group by hundredths
        )
        window in_order as (order by hundredths)
    )
),

{% endif -%}
committed as (
    select
        {{ dbt_cdc._dms_lsn('commit_hundredths') }} as commit_lsn,
        timestamp_millis(commit_hundredths * 10) as commit_time,
        {{ dbt_cdc._dms_lsn('hundredths', 'number') }} as lsn,
        timestamp_millis(hundredths * 10) as record_time,
        operation,
        source_schema,
        source_name,
        case when operation in ('UPDATE', 'DELETE') then before_image end as before_image,
        case when operation in ('INSERT', 'UPDATE') then after_image end as after_image
    from {{ 'changes inner join spans using (hundredths)' if has_ids
        else '(select *, hundredths as commit_hundredths from changes)' }}
    where commit_hundredths <= {{ dbt_cdc._dms_settled(batch) }}{{ ' - 100' if has_ids }}
    {%- if batch.last_lsn == dbt_cdc._zero_lsn() %}
    union all
    -- a full load, whose time nothing tells, is from right before the first change, also of those that wait
    select
        {{ dbt_cdc._dms_lsn('hundredths') }},
        load_time,
        {{ dbt_cdc._dms_lsn('hundredths', 'number') }},
        load_time,
        'INSERT',
        source_schema,
        source_name,
        null,
        image
    from full_load
    cross join (
        select timestamp_millis(10 * least({{ dbt_cdc._dms_settled(batch) }}, min(hundredths))) as load_time
        from changes
    )
    {%- endif %}
)
{%- endmacro %}
