{#- One row for each key that changed in [from_lsn, to_lsn], to be used after `from`: option 'all',
    'all with mask' or 'all with merge'. -#}
{% macro get_net_changes(
    capture_instance, from_lsn, to_lsn, row_filter_option='all', with_commit_time=false
) -%}
    {%- set window = dbt_cdc._query_window(
        'get_net_changes', capture_instance, from_lsn, to_lsn, row_filter_option) -%}
    (
        {{ dbt_cdc._indent(dbt_cdc._with_commit_time(
            dbt_cdc._net_changes_sql(window), window, with_commit_time), 4) }}
    )
{%- endmacro %}


{#- One pass: row 3 is dropped first (row 4 has the same mask), then one window over each key in
    change order gives the first operation and the last row (docs/decisions/0004). Where the window
    `skips_unchanged`, row 3 stays: a row that is in the end what it was at first is no change. -#}
{% macro _net_changes_sql(window) -%}
    {%- set columns = dbt_cdc._query_columns(window, [
        '__$start_lsn', '__$operation', '__$update_mask']) -%}
    {%- set captured = dbt_cdc._net_columns(window) -%}
    {%- set has_mask = window.option_sql or window.option == 'all with mask' -%}
    {%- set image = 'struct(' ~ captured | join(', ') ~ ')' -%}
    select
        `__$start_lsn`,
        {{ dbt_cdc._indent(dbt_cdc._net_operation(window), 4) }} as `__$operation`,
        {{ dbt_cdc._indent(dbt_cdc._net_mask(window), 4) }} as `__$update_mask`,
        {{ captured | join(',\n        ') }}
    from (
        select
            *,
            first_value(`__$operation`) over in_order as `__$first_operation`,
            lead(`__$operation`) over (
                partition by {{ window.key | join(', ') }} order by {{ dbt_cdc._change_order() }}
            ) as `__$next_operation`
            {%- if window.skips_unchanged %},
            first_value({{ image }}) over in_order as `__$first_image`
            {%- endif %}
            {%- if has_mask %},
            {{ dbt_cdc._indent(dbt_cdc._mask_chunks(window), 8) }}
            {%- endif %}
            {%- if window.is_partial %},
            {{ dbt_cdc._indent(dbt_cdc._known_values(window), 8) }}
            {%- endif %}
        {{ dbt_cdc._indent(dbt_cdc._window_rows(window), 4) }}
            {%- if not window.skips_unchanged %}
            and `__$operation` <> 3
            {%- endif %}
        window in_order as (
            partition by {{ window.key | join(', ') }} order by {{ dbt_cdc._change_order() }}
            rows between unbounded preceding and current row
        )
    )
    where
        `__$next_operation` is null
        {%- if window.skips_unchanged %}
        and case
            when `__$operation` = 1 then `__$first_operation` <> 2
            else `__$first_operation` = 2 or not `__$first_image` <=> {{ image }}
        end
        {%- else %}
        and (`__$operation` <> 1 or `__$first_operation` <> 2)
        {%- endif %}
    union all
    select
        {{ columns.nulls | join(',\n        ') }}
    from {{ dbt_cdc._validity_guard(window) }}
{%- endmacro %}


{% macro _net_operation(window) -%}
    case
        when `__$operation` = 1 then 1
        {%- if window.option_sql %}
        when {{ window.option_sql }} = 'all with merge' then 5
        {%- elif window.option == 'all with merge' %}
        else 5
        {%- endif %}
        {%- if window.option_sql or window.option != 'all with merge' %}
        when `__$first_operation` = 2 then 2
        else 4
        {%- endif %}
    end
{%- endmacro %}


{#- The OR of all masks of the key, kept 7 bytes at a time. -#}
{% macro _mask_chunks(window) -%}
    {%- set digits = ((window.columns | length + 7) // 8) * 2 -%}
    {%- for first in range(0, digits, 14) %}
    bit_or(cast(conv(substr(`__$update_mask`, {{ first + 3 }}, {{ [14, digits - first] | min }}), 16, 10)
        as bigint)) over in_order as `__$mask_{{ loop.index }}`{{ ',' if not loop.last }}
    {%- endfor %}
{%- endmacro %}


{% macro _net_mask(window) -%}
    {%- set digits = ((window.columns | length + 7) // 8) * 2 -%}
    {%- if window.option_sql or window.option == 'all with mask' -%}
    case when `__$operation` <> 1 and `__$first_operation` <> 2
        {%- if window.option_sql %} and {{ window.option_sql }} = 'all with mask' {%- endif %}
        then concat('0x'
            {%- for first in range(0, digits, 14) -%}
            , lpad(hex(`__$mask_{{ loop.index }}`), {{ [14, digits - first] | min }}, '0')
            {%- endfor -%}
        ) end
    {%- else -%}
    cast(null as string)
    {%- endif -%}
{%- endmacro %}


{% macro _net_columns(window) %}
    {% set names = [] %}
    {% for column in window.columns %}
        {% set name = dbt_cdc._column(column.name) %}
        {% do names.append(
            '`__$known_' ~ loop.index ~ '`.value as ' ~ name if window.is_partial else name
        ) %}
    {% endfor %}
    {% do return(names) %}
{% endmacro %}


{#- With partial images a row 4 leaves out what was not logged (NULL with bit 0): the value is then
    the one that the key's last row in the window has told. -#}
{% macro _known_values(window) -%}
    {%- for column in window.columns %}
    {%- set name = dbt_cdc._column(column.name) %}
    last_value(case
        when {{ name }} is not null or {{ dbt_cdc._has_bit(
            loop.index, '`__$update_mask`', window.columns | length) }}
            then named_struct('value', {{ name }})
    end, true) over in_order as `__$known_{{ loop.index }}`{{ ',' if not loop.last }}
    {%- endfor %}
{%- endmacro %}
