{#- What an update of a key does not tell. Large values that stay as they are are not logged, and PostgreSQL without
    `replica identity full` logs the old row's key alone. The row at the new key takes such values from the row that
    left the old key: in the window, in the change table, or else in the log. Where none tells one, it is NULL, and the
    run says so.
    Such sources check keys row by row: a row leaves a key before another one comes to it. -#}

{#- Where the rows that left the old keys are looked up: the window to read, that of the instance where the change
    table has them, else the whole log; none where no value is left out. Cleanup, or a start behind the log's, takes
    rows from the table. -#}
{% macro _window_of_moves(instance, window) %}
    {% set asked = dbt_cdc._invocation_cache().setdefault('moves', {}) %}
    {#- SQL around change_table() may mask what the change table has -#}
    {% if instance.name not in asked %}
        {% set wide = dict(window, is_backfill=true, floor_lsn=dbt_cdc._zero_lsn(), previous_lsn=dbt_cdc._zero_lsn()) %}
        {% set leaves_out = dbt_cdc._leaves_out_values(instance, window) %}
        {% do asked.update({instance.name: none if not leaves_out else wide if instance.is_edited
            or dbt_cdc._fetch(dbt_cdc._lost_values_sql(instance, window, window)) else window}) %}
    {% endif %}
    {% do return(asked[instance.name]) %}
{% endmacro %}


{#- Whether an update in the window leaves out a value and has a before image, as key changes have. -#}
{% macro _leaves_out_values(instance, window) %}
    {% if instance.before_image != 'partial' or not instance.index_columns or not dbt_cdc._is_building()
        or not window.to_lsn or not dbt_cdc._is_touched(instance, window) %}
        {% do return(false) %}
    {% endif %}
    {% do return(dbt_cdc._fetch(
        'with ' ~ dbt_cdc._window_records(instance, window, 'log.before_image is not null and size('
            ~ dbt_cdc._untold_names(instance.columns) ~ ') > 0 as leaves_out')
        ~ "\nselect 1 from parsed where operation = 'UPDATE' and leaves_out limit 1"
    ) | length > 0) %}
{% endmacro %}


{#- The window's change rows with what the old keys' rows tell. A life is what a key's row is between
    an insert and the delete behind it; the life that begins with a key change goes on with that of the old key. -#}
{% macro _moved_rows(instance, window, read) -%}
{{ dbt_cdc._moved_values(instance, window, read) }}

select
    {%- for name in dbt_cdc._change_table_columns(instance) %}
    {%- set captured = instance.columns | selectattr('name', 'equalto', name) | list %}
    {{ 'if(array_contains(found.`__$untold`, ' ~ dbt_cdc._literal(name) ~ '), '
        ~ dbt_cdc._found(captured[0], instance) ~ '.value, changes.' ~ dbt_cdc._column(name) ~ ') as '
        ~ dbt_cdc._column(name) if captured else 'changes.' ~ dbt_cdc._column(name) }}{{ ',' if not loop.last }}
    {%- endfor %}
from changes
left join found
    on changes.`__$start_lsn` = found.`__$start_lsn`
    and changes.`__$seqval` = found.`__$seqval`
    and changes.`__$operation` = 2
where changes.`__$start_lsn` > '{{ window.previous_lsn }}'
{%- endmacro %}


{#- CTE `found`: of each such insert what is known of each column, NULL where nothing is. `changes` are the change rows
    of what is read, of inserts with `__$untold` and whether a key change made them (`__$is_moved`); what cannot be read
    stops the scan in the window alone. -#}
{% macro _moved_values(instance, window, read) -%}
{%- set names, stored = dbt_cdc._quoted(dbt_cdc._change_table_columns(instance).keys()), [] -%}
{#- Spark pads a char(n) where it reads a table -#}
{%- for data_type in dbt_cdc._change_table_columns(instance).values() -%}
    {%- set name = names[loop.index0] -%}
    {%- do stored.append('rtrim(' ~ name ~ ') as ' ~ name if dbt_cdc._is_char(data_type) else name) -%}
{%- endfor -%}
{%- set key = dbt_cdc._quoted(instance.index_columns) -%}
{%- set columns, texts = instance.columns, [] -%}
{#- exact ones: to_json cuts off microseconds -#}
{%- for column in columns if column.name in instance.index_columns -%}
    {%- do texts.append(('hex(' if dbt_cdc._type_family(column.data_type) == 'binary' else 'string(')
        ~ dbt_cdc._column(column.name) ~ ')') -%}
{%- endfor -%}
{{ dbt_cdc._checked_changes(instance, read) }},

changes as (
    {{ dbt_cdc._indent(dbt_cdc._rows_of_typed(instance, true, window.previous_lsn), 4) }}
),

moves as (
    select `__$start_lsn`, `__$seqval`
    from changes
    where `__$is_moved` and size(`__$untold`) > 0
),

moved_keys as (
    select distinct {{ key | join(', ') }}
    from changes
    left semi join moves using (`__$start_lsn`, `__$seqval`)
),

-- all rows of the keys that a row moves from or to
lives as (
    select
        *,
        concat(`__$start_lsn`, `__$seqval`) as `__$change`,
        coalesce(last_value(if(`__$operation` = 2, concat(`__$start_lsn`, `__$seqval`), null), true) over (
            partition by {{ key | join(', ') }} order by {{ dbt_cdc._change_order() }}
            rows between unbounded preceding and current row
        ), to_json(array({{ texts | join(', ') }}))) as `__$life`
    from (
        select {{ names | join(', ') }}, `__$untold`, `__$is_moved`
        from changes
        {%- if not read.is_backfill and load_cached_relation(instance.relation) is not none %}
        union all
        select {{ stored | join(', ') }}, null, false
        from {{ instance.relation }}
        where `__$start_lsn` <= '{{ window.previous_lsn }}'
        {%- endif %}
    ) as present
    left semi join moved_keys
        on {% for name in key %}{{ ' and ' if not loop.first }}present.{{ name }} <=> moved_keys.{{ name }}{% endfor %}
),

parents as (
    select `__$change` as `__$life`, `__$life` as `__$parent`
    from lives
    left semi join moves using (`__$start_lsn`, `__$seqval`)
    where `__$operation` = 1
),

-- a row may move more than once
chains as (
    select aggregate(
        array_sort(collect_list(struct(
            later.`__$life` as life, later.`__$parent` as parent, earlier.`__$parent` as origin
        ))),
        cast(map() as map<string, string>),
        (origins, move) -> map_concat(origins, map(move.life, coalesce(origins[move.parent], move.origin)))
    ) as `__$origins`
    from parents as later
    inner join parents as earlier on later.`__$parent` = earlier.`__$life`
),

found as (
    select *
    from (
        select
            `__$start_lsn`,
            `__$seqval`,
            `__$operation`,
            {%- for column in columns %}
            last_value(if(`__$operation` <> 1 and {{ dbt_cdc._is_told(column, columns) }}, {# -#}
            struct({{ dbt_cdc._column(column.name) }} as value), null), true) over in_order as {# -#}
            {{ dbt_cdc._found(column, instance) }},
            {%- endfor %}
            `__$untold`,
            `__$is_moved`
        from lives
        left join parents using (`__$life`)
        cross join chains
        window in_order as (
            partition by coalesce(`__$origins`[`__$life`], `__$parent`, `__$life`)
            order by `__$change`, `__$operation`
            rows between unbounded preceding and current row
        )
    )
    where `__$is_moved` and size(`__$untold`) > 0
)
{%- endmacro %}


{% macro _found(column, instance) -%}
    `__$found_{{ dbt_cdc._find_ordinal(instance.columns, column.name) }}`
{%- endmacro %}


{#- Says which columns stay NULL in rows that moved, since nothing tells what they were. -#}
{% macro _tell_lost_values(instance, window) %}
    {% set read = dbt_cdc._window_of_moves(instance, window) %}
    {% set lost = dbt_cdc._fetch(dbt_cdc._lost_values_sql(instance, window, read))
        if read and read.is_backfill else [] %}
    {% for row in lost %}
        {% do dbt_cdc._log_line(
            "capture instance '" ~ instance.name ~ "': column " ~ row.name ~ ' is NULL in ' ~ row.row_count
            ~ ' rows that got another key, the first at LSN ' ~ row.lsn ~ ': the log leaves out its value, and has no '
            ~ 'row of the old key that tells it; with replica identity full in the source the log has all values'
        ) %}
    {% endfor %}
{% endmacro %}


{% macro _lost_values_sql(instance, window, read) -%}
{%- set instance = dbt_cdc._with_encodings(instance, read) -%}
{%- set names = [] -%}
{%- for column in instance.columns -%}
    {%- do names.append(
        'if(' ~ dbt_cdc._found(column, instance) ~ ' is null, ' ~ dbt_cdc._literal(column.name) ~ ', null)') -%}
{%- endfor -%}
{{ dbt_cdc._moved_values(instance, window, read) }}

select name, count(*) as row_count, min(`__$seqval`) as lsn
from (
    select `__$seqval`, explode(array_intersect(`__$untold`, array({{ names | join(', ') }}))) as name
    from found
    where `__$start_lsn` > '{{ window.previous_lsn }}'
)
group by name
order by name
{%- endmacro %}


{#- A NULL whose bit is 0 is not told, nor one that the images lack: an INSERT may be older than the column. -#}
{% macro _is_told(column, columns) -%}
    ({{ dbt_cdc._column(column.name) }} is not null or {# -#}
    {{ dbt_cdc._has_bit(dbt_cdc._find_ordinal(columns, column.name), '`__$update_mask`', columns | length) }} and {# -#}
    not coalesce(array_contains(`__$untold`, {{ dbt_cdc._literal(column.name) }}), false))
{%- endmacro %}
