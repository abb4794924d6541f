{#- Keys may pass over each other: in one transaction a row can come to a key before the one that was there has
    left it. By key that delete belongs before the insert. It is told by how many rows are at the key, and where
    the key's other rows in the window do not tell that, by the images: a delete right behind another row is of
    an older one where its image is another. Where that is equal, too, nothing has changed either way. -#}

{#- Of each row: the rows at its key behind it, beside those before the window; the delete that follows in its
    transaction; whether it is a delete that follows another row there. -#}
{% macro _rows_at_keys(window) -%}
    {%- set image = 'struct(' ~ dbt_cdc._quoted(window.columns | map(attribute='name')) | join(', ') ~ ')' -%}
    sum(case `__$operation` when 2 then 1 when 1 then -1 else 0 end) over in_order as `__$rows`,
    lead(if(`__$operation` = 1, struct(`__$start_lsn` as lsn, {{ image }} as image), null)) {# -#}
    over by_key as `__$next_delete`,
    lag(if(`__$operation` <> 1, `__$start_lsn`, null)) over by_key <=> `__$start_lsn` as `__$is_behind`
{%- endmacro %}


{% macro _key_windows(window) -%}
    {%- set by_key -%}
        partition by {{ window.key | join(', ') }} order by {{ dbt_cdc._change_order() }}
    {%- endset -%}
    by_key as ({{ by_key }}),
    in_order as ({{ by_key }} rows between unbounded preceding and current row)
{%- endmacro %}


{#- Whether a row tells that its key had one before the window. -#}
{% macro _tells_of_older_row(window) -%}
    case
        when `__$operation` = 1 then `__$rows` < 0
        else `__$rows` < 1 and `__$operation` <> 2 or `__$rows` = 1 and {{ dbt_cdc._is_passed_over(window) }}
    end
{%- endmacro %}


{#- Whether the delete that follows is of another row than this one. A partial image need not tell a column, nor does a
    delete of SQL Server tell text, ntext and image. Where nothing says that deletes are whole, one of the key alone
    tells nothing. -#}
{% macro _is_passed_over(window) -%}
    `__$next_delete`.lsn <=> `__$start_lsn` and {# -#}
    {%- set told = dbt_cdc._told_by_adapters() -%}
    {%- if window.is_partial or told.is_of_sqlserver -%}
        {%- set tests = [] -%}
        {%- for column in window.columns -%}
            {%- set name = dbt_cdc._column(column.name) -%}
            {%- do tests.append('`__$next_delete`.image.' ~ name ~ ' <> ' ~ name) -%}
        {%- endfor -%}
    coalesce({{ tests | join(' or ') }}, false)
    {%- else -%}
    not `__$next_delete`.image <=> struct({{ dbt_cdc._quoted(window.columns | map(attribute='name')) | join(', ') }})
        {%- if not told.has_whole_deletes %} and {# -#}
        {{ dbt_cdc._tells_beside_key('`__$next_delete`.image', window.columns, window.key) }}
        {%- endif -%}
    {%- endif -%}
{%- endmacro %}


{#- Whether an image has a value beside the key, whose names are quoted. -#}
{% macro _tells_beside_key(image, columns, key) -%}
    {%- set tests, key = [], key | map('lower') | list -%}
    {%- for name in dbt_cdc._quoted(columns | map(attribute='name')) if name | lower not in key -%}
        {%- do tests.append(image ~ '.' ~ name ~ ' is not null') -%}
    {%- endfor -%}
    ({{ tests | join(' or ') or 'false' }})
{%- endmacro %}


{#- The window's rows, of updates the row 4, in the order by key: a delete of an older row has the place of the insert
    that it follows in its transaction, where its operation puts it before it. -#}
{% macro _settled_rows(window) -%}
    select
        * except (`__$seqval`, `__$command_id`),
        if(`__$is_older`, `__$arrival`.seqval, `__$seqval`) as `__$seqval`,
        if(`__$is_older`, `__$arrival`.command_id, `__$command_id`) as `__$command_id`
    from (
        select
            *,
            `__$operation` = 1 and `__$is_behind` and `__$arrival`.lsn = `__$start_lsn` and `__$rows` >= if(
                bool_or({{ dbt_cdc._indent(dbt_cdc._tells_of_older_row(window), 16) }}) over ({# -#}
                partition by {{ window.key | join(', ') }}), 0, 1) as `__$is_older`
        from (
            select
                *,
                {{ dbt_cdc._indent(dbt_cdc._rows_at_keys(window), 16) }},
                last_value(if(
                    `__$operation` = 2,
                    struct(`__$start_lsn` as lsn, `__$seqval` as seqval, `__$command_id` as command_id), null
                ), true) over in_order as `__$arrival`
            {{ dbt_cdc._indent(dbt_cdc._window_rows(window), 12) }}
                and `__$operation` <> 3
            window {{ dbt_cdc._indent(dbt_cdc._key_windows(window), 12) }}
        )
    )
{%- endmacro %}
