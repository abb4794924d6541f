{#- One row for each key that changed in [from_lsn, to_lsn], to be used after `from`: option 'all',
    'all with mask' or 'all with merge'. -#}
{% macro get_net_changes(
    capture_instance, from_lsn, to_lsn, row_filter_option='all', with_commit_time=false
) -%}
    {%- do return(dbt_cdc._given_changes(capture_instance)) if execute and dbt_cdc._is_unit_test() -%}
    {%- set window = dbt_cdc._query_window(
        'get_net_changes', capture_instance, from_lsn, to_lsn, row_filter_option) -%}
    (
        {{ dbt_cdc._indent(dbt_cdc._with_commit_time(
            dbt_cdc._net_changes_sql(window), window, with_commit_time), 4) }}
    )
{%- endmacro %}


{#- One pass: row 3 is dropped first (row 4 has the same mask), then windows over each key in change order, which
    share one sort, tell whether the key had a row at first, and its last row (docs/decisions/0004). Where the
    window `skips_unchanged`, row 3 stays: a row that is in the end what it was at first is no change. -#}
{% macro _net_changes_sql(window) -%}
    {%- set columns = dbt_cdc._query_columns(window, [
        '__$start_lsn', '__$operation', '__$update_mask']) -%}
    {%- set captured = dbt_cdc._net_columns(window) -%}
    {%- set has_mask = window.option_sql or window.option == 'all with mask' -%}
    {%- set image = 'struct(' ~ captured | join(', ') ~ ')' -%}
    {#- of a NULL a delete that may lack values does not tell what was there -#}
    {%- set is_told = 'true' if dbt_cdc._told_by_adapters().has_whole_deletes
        else '`__$first`.operation = 3 or ' ~ captured | join(' is not null and ') ~ ' is not null' -%}
    {{ dbt_cdc._guard_first(columns, window) }}
    select
        `__$start_lsn`,
        {{ dbt_cdc._indent(dbt_cdc._net_operation(window), 4) }} as `__$operation`,
        {{ dbt_cdc._indent(dbt_cdc._net_mask(window), 4) }} as `__$update_mask`,
        {{ captured | join(',\n        ') }}
    from (
        select
            *,
            bool_or({{ dbt_cdc._indent(dbt_cdc._tells_of_older_row(window), 12) }}) over in_order as `__$existed`,
            lead(`__$operation`) over by_key as `__$next_operation`,
            lead(`__$operation`, 2) over by_key as `__$second_operation`
            {%- if window.skips_unchanged %},
            first_value(case when {{ dbt_cdc._indent(dbt_cdc._tells_of_older_row(window), 12) }}
                then struct(`__$operation` as operation,
                    if(`__$operation` in (2, 4), `__$next_delete`.image, {{ image }}) as image)
            end, true) over in_order as `__$first`
            {%- endif %}
            {%- if has_mask %},
            {{ dbt_cdc._indent(dbt_cdc._mask_chunks(window), 8) }}
            {%- endif %}
            {%- if window.is_partial %},
            {{ dbt_cdc._indent(dbt_cdc._known_values(window), 8) }}
            {%- endif %}
        from (
            select
                *,
                {{ dbt_cdc._indent(dbt_cdc._rows_at_keys(window), 12) }}
            {{ dbt_cdc._indent(dbt_cdc._window_rows(window), 8) }}
                {%- if not window.skips_unchanged %}
                and `__$operation` <> 3
                {%- endif %}
            window {{ dbt_cdc._indent(dbt_cdc._key_windows(window), 12) }}
        )
        window {{ dbt_cdc._indent(dbt_cdc._key_windows(window), 8) }}
    )
    where
        {{ dbt_cdc._indent(dbt_cdc._is_last_row(window), 8) }}
        {%- if window.skips_unchanged %}
        and (`__$operation` = 1 or not `__$existed` or not (`__$first`.image <=> {{ image }} and ({{ is_told }})))
        {%- endif %}
{%- endmacro %}


{#- A delete that belongs before the row that it follows leaves that one the last. A row that comes and goes within the
    window leaves none, but where somebody may have read it meanwhile (`keeps_gone`). -#}
{% macro _is_last_row(window) -%}
    {%- set existed = '`__$existed` and ' if not window.keeps_gone else '' -%}
    case
        when `__$next_operation` is not null
            then `__$second_operation` is null and `__$operation` <> 1
                and `__$next_delete`.lsn <=> `__$start_lsn` and `__$rows` >= if(`__$existed`, 1, 2)
        when `__$operation` = 1 then {{ existed }}not (`__$is_behind` and `__$rows` >= 0)
        else true
    end
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
        when `__$existed` then 4
        else 2
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
    case when `__$operation` <> 1 and `__$existed`
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
            'if(`__$operation` = 1, ' ~ name ~ ', `__$known_' ~ loop.index ~ '`.value) as ' ~ name
            if window.is_partial else name
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
        when `__$operation` <> 1 and ({{ name }} is not null or {{ dbt_cdc._has_bit(
            loop.index, '`__$update_mask`', window.columns | length) }})
            then named_struct('value', {{ name }})
    end, true) over in_order as `__$known_{{ loop.index }}`{{ ',' if not loop.last }}
    {%- endfor %}
{%- endmacro %}
