{#- The changes of a history whose images are partial, with every value: where an update does not tell
    one, it is that of the change before, in the window or else in the current version. -#}
{% macro _carry_values(columns, carried, key, changes, consumer, relation) -%}
{%- set metadata = [
    '`__$start_lsn`', '`__$command_id`', '`__$seqval`', '`__$operation`', '`__$update_mask`',
    '`__$commit_time`'] -%}
{%- set instance = (consumer.windows.values() | list)[0].instance -%}
with changes as (
    {{ dbt_cdc._indent(changes, 4) }}
),

known as (
    select
        {%- for column in columns.values() %}
        {{ column.quoted }},
        {%- endfor %}
        {{ metadata | join(', ') }}
    from changes
    where `__$operation` <> 3
    {%- if relation %}
    union all
    select
        {%- for column in columns.values() %}
        present.{{ column.quoted }},
        {%- endfor %}
        '', cast(null as int), '', 0, cast(null as string), cast(null as timestamp)
    from {{ relation }} as present
    left semi join changes
        on
            {%- for column in dbt_cdc._consumer_key(consumer, columns).values() %}
            {{ 'and ' if not loop.first }}present.{{ column.quoted }} <=> changes.{{ column.quoted }}
            {%- endfor %}
    where present.valid_to_lsn is null
    {%- endif %}
)

select
    {%- for column in columns.values() %}
    {{ '`__$known_' ~ carried.index(column) ~ '`.value as ' if column in carried }}{{ column.quoted }},
    {%- endfor %}
    {{ metadata | join(', ') }}
from (
    select
        *
        {%- for column in carried %},
        last_value(case
            when `__$operation` <> 4 or {{ column.quoted }} is not null or {# -#}
            {{ dbt_cdc._has_bit(
                dbt_cdc._find_ordinal(instance.columns, column.name), '`__$update_mask`',
                instance.columns | length) }}
                then named_struct('value', {{ column.quoted }})
        end, true) over (
            partition by {{ key }} order by {{ dbt_cdc._change_order() }}
            rows between unbounded preceding and current row
        ) as `__$known_{{ loop.index0 }}`
        {%- endfor %}
    from known
)
where `__$operation` <> 0
{%- endmacro %}
