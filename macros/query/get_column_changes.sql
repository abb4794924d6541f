{#- One row for each change and column that it changed in [from_lsn, to_lsn], old value beside new, to be
    used after `from`: `__$start_lsn`, `__$seqval`, `__$operation` (1, 2 or 4), the key, `__$column_name`,
    `__$old_value`, `__$new_value` (text; binary as base64), `__$commit_time`. -#}
{% macro get_column_changes(capture_instance, from_lsn, to_lsn, with_commit_time=true) -%}
    {%- do return(dbt_cdc._given_changes(capture_instance)) if execute and dbt_cdc._is_unit_test() -%}
    {%- set window = dbt_cdc._query_window(
        'get_column_changes', capture_instance, from_lsn, to_lsn, 'all update old') -%}
    {%- set columns = window.columns -%}
    {%- set with_commit_time = dbt_cdc._as_boolean('with_commit_time', with_commit_time) -%}
    (
        select
            `__$start_lsn`,
            `__$seqval`,
            `__$operation`,
            {%- for name in window.key %}
            {{ name }},
            {%- endfor %}
            `__$change`.name as `__$column_name`,
            `__$change`.old_value as `__$old_value`,
            `__$change`.new_value as `__$new_value`
            {{- ',\n            `__$commit_time`' if with_commit_time }}
        from (
            select
                *,
                explode(transform(
                    filter(
                        sequence(1, {{ columns | length }}),
                        ordinal -> {{ dbt_cdc._indent(
                            dbt_cdc.is_bit_set('ordinal', '`__$update_mask`'), 20) }}
                    ),
                    ordinal -> named_struct(
                        'name', {{ dbt_cdc._names(columns) }}[ordinal - 1],
                        'old_value', `__$before`[ordinal - 1],
                        'new_value', `__$after`[ordinal - 1]
                    )
                )) as `__$change`
            from (
                {{ dbt_cdc._indent(dbt_cdc._paired_changes(window, with_commit_time), 12) }}
            )
        )
    )
{%- endmacro %}


{#- Each change once, with both images as arrays of text. The rows 3 and 4 of an update share their LSNs. -#}
{% macro _paired_changes(window, with_commit_time) -%}
    {%- set nothing = 'cast(array_repeat(null, ' ~ window.columns | length ~ ') as array<string>)' -%}
    select
        *,
        case
            when `__$operation` = 1 then `__$image`
            when `__$operation` = 4 then `__$previous`
            else {{ nothing }}
        end as `__$before`,
        case when `__$operation` = 1 then {{ nothing }} else `__$image` end as `__$after`
    from (
        select
            *,
            lag(`__$image`) over (
                partition by `__$start_lsn`, `__$seqval` order by `__$operation`
            ) as `__$previous`
        from (
            select
                *,
                array(
                    {%- for column in window.columns %}
                    {{ dbt_cdc._value_text(column) }}{{ ',' if not loop.last }}
                    {%- endfor %}
                ) as `__$image`
            from (
                {{ dbt_cdc._indent(dbt_cdc._with_commit_time(
                    dbt_cdc._all_changes_sql(window), window, with_commit_time), 12) }}
            )
        )
    )
    where `__$operation` <> 3
{%- endmacro %}


{% macro _value_text(column) -%}
    {%- set name = dbt_cdc._column(column.name) -%}
    {%- if dbt_cdc._type_family(column.data_type) == 'binary' -%} replace(base64({{ name }}), '\r\n', '')
    {%- else -%} cast({{ name }} as string)
    {%- endif -%}
{%- endmacro %}
