{#- Each change of a key with the change that follows it. Where images are partial, a value that an update
    does not tell is that of the version before. -#}
{% macro _row_versions(columns, changes, consumer, relation=none) -%}
{%- set key = dbt_cdc._consumer_key(consumer, columns).values() | map(attribute='quoted') | join(', ') -%}
{%- set carried = [] -%}
{%- for column in columns.values() if dbt_cdc._partial_instance_of(column, consumer) -%}
    {%- do carried.append(column) -%}
{%- endfor -%}
select
    *,
    lead(`__$start_lsn`) over in_order as `__$next_lsn`,
    lead(`__$operation`) over in_order as `__$next_operation`,
    lead(`__$commit_time`) over in_order as `__$next_time`,
    row_number() over in_order as `__$number`
from (
    {%- if carried %}
    {{ dbt_cdc._indent(dbt_cdc._carry_values(
        columns, carried, key, changes, consumer, relation), 4) }}
    {%- else %}
    {{ dbt_cdc._indent(changes, 4) }}
    {%- endif %}
)
where `__$operation` <> 3
window in_order as (partition by {{ key }} order by {{ dbt_cdc._change_order() }})
{%- endmacro %}


{% macro _history_rows(columns, changes, consumer) -%}
select
    {%- for column in columns.values() %}
    {{ dbt_cdc._unbounded(column) }},
    {%- endfor %}
    `__$commit_time` as valid_from,
    `__$next_time` as valid_to,
    `__$start_lsn` as valid_from_lsn,
    `__$next_lsn` as valid_to_lsn
from (
    {{ dbt_cdc._indent(dbt_cdc._row_versions(columns, changes, consumer), 4) }}
)
where `__$operation` <> 1
{%- endmacro %}


{#- The first change of a key comes twice where it also begins a version: once to end the current one. An insert
    does not where its transaction goes on with a delete: where the key has a current version, the two are an equal
    row in its place. -#}
{% macro _history_merge(relation, columns, changes, consumer) -%}
merge into {{ relation }} as present
using (
    select
        *,
        explode(case
            when `__$number` > 1 then array(false)
            when `__$operation` = 1 then array(true)
            when `__$operation` = 2 and `__$next_operation` = 1 and `__$next_lsn` = `__$start_lsn`
                then array(false)
            else array(true, false)
        end) as `__$ends`
    from (
        {{ dbt_cdc._indent(dbt_cdc._row_versions(
            columns, dbt_cdc._not_merged_yet(relation, changes, consumer), consumer, relation), 8) }}
    )
    where `__$number` = 1 or `__$operation` <> 1
) as changes
    on
        changes.`__$ends`
        and present.valid_to_lsn is null
        {%- for column in dbt_cdc._consumer_key(consumer, columns).values() %}
        and present.{{ column.quoted }} <=> changes.{{ column.quoted }}
        {%- endfor %}
when matched then update set
    valid_to = changes.`__$commit_time`,
    valid_to_lsn = changes.`__$start_lsn`
when not matched and {{ dbt_cdc._told_condition(consumer, '`__$ends`', 'false') }} then insert (
    {{- columns.values() | map(attribute='quoted') | join(', ') }}, {# -#}
    valid_from, valid_to, valid_from_lsn, valid_to_lsn) values (
    {%- for column in columns.values() %}
    changes.{{ column.quoted }},
    {%- endfor %}
    changes.`__$commit_time`,
    changes.`__$next_time`,
    changes.`__$start_lsn`,
    changes.`__$next_lsn`
)
{%- endmacro %}


{#- The changes behind those that another run has merged since the bookmarks were read: the versions tell up to which
    LSN, and Delta refuses the second of two MERGEs at once, as both read them. -#}
{% macro _not_merged_yet(relation, changes, consumer) -%}
{%- set consumed_lsn = consumer.windows.values() | map(attribute='consumed_lsn') | select | max -%}
select changes.*
from (
    {{ dbt_cdc._indent(changes, 4) }}
) as changes
inner join (
    select coalesce(max(greatest(valid_from_lsn, valid_to_lsn)), '') as last_lsn
    from {{ relation }} as present
    where valid_from_lsn > '{{ consumed_lsn }}' or valid_to_lsn > '{{ consumed_lsn }}'
) as merged
    on changes.`__$start_lsn` > merged.last_lsn
{%- endmacro %}
