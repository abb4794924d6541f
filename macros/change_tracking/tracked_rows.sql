{#- The rows of one side table in one window: what each transaction has done to each key. Records
    become events of keys; an update of the key is the delete of one and the insert of another. All
    events of a key in a transaction give one row. -#}
{% macro _tracked_rows(tracked, window) -%}
{%- set tracked = dbt_cdc._with_encodings(tracked, window) -%}
{%- set keys, values, key = [], [], [] -%}
{%- for name in dbt_cdc._quoted(tracked.index_columns) -%}
    {%- do keys.append('key_' ~ loop.index) -%}
    {%- do values.append('value.' ~ name ~ ' as key_' ~ loop.index) -%}
    {%- do key.append('key_' ~ loop.index ~ ' as ' ~ name) -%}
{%- endfor -%}
{{ dbt_cdc._checked_events(tracked, window) }},

events as (
    select
        commit_ts,
        {{ dbt_cdc._indent(dbt_cdc._checked_event(tracked), 8) }} as operation,
        context,
        {{ dbt_cdc._updated_columns(tracked) }} as updated_columns,
        {{ dbt_cdc._event_order() }} as place,
        {{- '\n        ' ~ dbt_cdc._content(tracked) ~ ' as content,' if dbt_cdc._tells_rows(tracked) }}
        {{ values | join(', ') }}
    from typed
    where {{ dbt_cdc._indent(dbt_cdc._checked(tracked, 'row_operation <> 3'), 4) }}
),

net as (
    select
        commit_ts,
        {{ keys | join(',\n        ') }},
        sum(case operation when 'I' then 1 when 'D' then -1 else 0 end) as more_rows,
        case
            -- where the first row that goes is not the one that came, keys pass over each other
            when more_rows = 0 then min_by(operation, place) <> 'I' or max_by(operation, place) <> 'D'
                {%- if dbt_cdc._tells_rows(tracked) %}
                or not coalesce(array_contains(
                    array_append(collect_set(if(operation = 'U', content, null)), min_by(content, place)),
                    min_by(content, if(operation = 'D', place, null))
                ), true)
                {%- endif %}
            else more_rows < 0
        end as existed,
        bool_or(operation = 'I') as is_created,
        max_by(context, place) as context,
        bool_or(operation <> 'U' or updated_columns is null) as has_all_columns,
        {{ dbt_cdc._column_bits(tracked) }} as updated_columns
    from events
    group by
        commit_ts,
        {{ keys | join(',\n        ') }}
)

select
    commit_ts as sys_change_version,
    if(is_created, commit_ts, null) as sys_change_creation_version,
    case when existed then if(more_rows < 0, 'D', 'U') else if(more_rows > 0, 'I', 'D') end as sys_change_operation,
    existed as sys_change_existed,
    if(has_all_columns, null, updated_columns) as sys_change_columns,
    context as sys_change_context,
    {{ key | join(',\n    ') }}
from net
{%- endmacro %}


{#- Whether images tell a row that went from those that came: not those that may lack columns. SQL Server's deletes lack
    text, ntext and image, and no clustered key there has two rows, not for a moment: the order tells. -#}
{% macro _tells_rows(tracked) %}
    {% do return(tracked.columns | length > tracked.index_columns | length and tracked.before_image != 'partial'
        and not dbt_cdc._told_by_adapters().is_of_sqlserver) %}
{% endmacro %}


{#- What tells rows apart; NULL of a delete that has no value beside the key, where deletes may lack some. -#}
{% macro _content(tracked) %}
    {% set tells = dbt_cdc._tells_beside_key('value', tracked.columns, dbt_cdc._quoted(tracked.index_columns)) %}
    {% do return('xxhash64(value)' if dbt_cdc._told_by_adapters().has_whole_deletes
        else 'if(row_operation = 1 and not ' ~ tells ~ ', null, xxhash64(value))') %}
{% endmacro %}


{#- The steps up to `typed`: the rows of each record, with what does not fit. -#}
{% macro _checked_events(tracked, window) -%}
with transactions as (
    {{ dbt_cdc._indent(dbt_cdc._versions_sql(window), 4) }}
),

parsed as (
    {{ dbt_cdc._indent(dbt_cdc._tracked_records(tracked, window), 4) }}
),

{{ dbt_cdc._image_steps(tracked) }}
{%- endmacro %}


{#- The table's records that the window commits, each with its version. The log may have a column
    change_tracking_context. -#}
{% macro _tracked_records(tracked, window) -%}
select
    transactions.commit_ts,
    log.lsn,
    log.operation,
    log.command_id,
    {{ 'log.change_tracking_context' if dbt_cdc._log_has(window.log, 'change_tracking_context')
        else 'cast(null as string)' }} as context,
    {{- '\n    log.encodings,' if tracked.has_encodings }}
    {{ dbt_cdc._indent(dbt_cdc._read_images(tracked), 4) }}
from {{ window.log }} as log
inner join transactions
    on
        log.tran_id = transactions.xdes_id
        and log.lsn between transactions.begin_lsn and transactions.commit_lsn
where
    {{ dbt_cdc._indent(dbt_cdc._is_record_of(tracked, window), 4) }}
{%- endmacro %}
