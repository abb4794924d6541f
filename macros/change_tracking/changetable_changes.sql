{#- CHANGETABLE(CHANGES ...), to be used after `from`: one row for each key that changed after
    `last_sync_version`, up to the last published version; NULL gives all that are kept. A version
    that is too old, or that was never published, is an error unless `allow_stale`. -#}
{% macro changetable_changes(table, last_sync_version, allow_stale=false) -%}
    {%- do return(dbt_cdc._given_rows(dbt_cdc._side_table_of(table)))
        if execute and dbt_cdc._is_unit_test() -%}
    {%- if execute -%}
    {%- set tracked = dbt_cdc._find_tracked_table(table) -%}
    {%- set since = dbt_cdc._version_literal(last_sync_version, 'changetable_changes: last_sync_version') -%}
    {%- set may_be_stale = dbt_cdc._as_boolean('changetable_changes: allow_stale', allow_stale) -%}
    (
        {{ dbt_cdc._indent(dbt_cdc._changes_sql(
            dbt_cdc._as_published(tracked), since, may_be_stale | lower), 8) }}
    )
    {%- else -%}
    {%- do dbt_cdc._depend_on_tracked_table(table) -%}
    {%- endif -%}
{%- endmacro %}


{% macro _version_literal(version, argument) %}
    {% do return('cast(null as bigint)') if version is none %}
    {% set text = version | string | trim %}
    {% do dbt_cdc.raise_cdc_error(
        313, argument ~ " '" ~ text ~ "' is no version",
        'give a whole number, e.g. of change_tracking_current_version, or none for all changes'
    ) if version is boolean or not modules.re.match('^-?[0-9]{1,18}$', text) %}
    {% do return(text ~ 'L') %}
{% endmacro %}


{#- One pass over the versions after the baseline: a window over each key in the order of versions
    gives its last row, whether it was there at the baseline, and the columns of all its updates.
    The bounds are literals once Spark has planned the query, so files of other versions are
    skipped. -#}
{% macro _changes_sql(tracked, last_sync_version, allow_stale) -%}
    {%- set key = dbt_cdc._quoted(tracked.index_columns) -%}
    {%- set baseline = 'greatest(coalesce(' ~ last_sync_version ~ ', 0), '
        ~ dbt_cdc._published_version('min_valid_version', tracked) ~ ')' -%}
    select
        {%- for name, data_type in dbt_cdc._change_columns_types(tracked).items() %}
        {{ dbt_cdc._checked_column(name, data_type) }}{{ ',' if not loop.last }}
        {%- endfor %}
    from {{ dbt_cdc._version_guard(tracked, last_sync_version, allow_stale) }}
    union all
    select
        sys_change_version,
        sys_change_last_creation as sys_change_creation_version,
        case
            when sys_change_operation = 'D' then 'D'
            when sys_change_existed_before then 'U'
            else 'I'
        end as sys_change_operation,
        {{ dbt_cdc._indent(dbt_cdc._change_columns(tracked), 8) }} as sys_change_columns,
        sys_change_context,
        {{ key | join(',\n        ') }}
    from (
        select
            *,
            max(sys_change_creation_version) over sys_change_history as sys_change_last_creation,
            first_value(sys_change_existed) over sys_change_history as sys_change_existed_before,
            {%- if tracked.tracks_columns %}
            bool_or(sys_change_columns is null) over sys_change_history as sys_change_has_all_columns,
            {%- for chunk in tracked.columns | batch(56) %}
            bit_or(get(sys_change_columns, {{ loop.index0 }})) over sys_change_history {# -#}
            as sys_change_columns_{{ loop.index }},
            {%- endfor %}
            {%- endif %}
            lead(sys_change_version) over (
                partition by {{ key | join(', ') }} order by sys_change_version
            ) as sys_change_next_version
        from {{ tracked.relation }}
        where
            sys_change_version > {{ baseline }}
            and sys_change_version <= {{ dbt_cdc._published_version('current_version', tracked) }}
        window sys_change_history as (
            partition by {{ key | join(', ') }} order by sys_change_version
            rows between unbounded preceding and current row
        )
    )
    where sys_change_next_version is null
{%- endmacro %}


{#- The output's columns: name -> type. -#}
{% macro _change_columns_types(tracked) %}
    {% set types = {
        'sys_change_version': 'bigint', 'sys_change_creation_version': 'bigint',
        'sys_change_operation': 'string', 'sys_change_columns': 'string',
        'sys_change_context': 'string',
    } %}
    {% for column in dbt_cdc._key_columns(tracked) %}
        {% do types.update({column.name: dbt_cdc._expression_type(column.data_type)}) %}
    {% endfor %}
    {% do return(types) %}
{% endmacro %}


{#- SQL Server's layout: four bytes of zeros, then of each changed column the id, lowest byte first.
    -#}
{% macro _change_columns(tracked) -%}
    {%- if tracked.tracks_columns -%}
    case
        when sys_change_operation <> 'D' and sys_change_existed_before and not sys_change_has_all_columns
            then concat(
                '0x00000000'
                {%- for column in tracked.columns if column.name not in tracked.index_columns %}
                {%- set id = tracked.columns.index(column) + 1 %},
                if(sys_change_columns_{{ (id - 1) // 56 + 1 }} & {{ 2 ** ((id - 1) % 56) }} <> 0, {# -#}
                '{{ dbt_cdc._column_id_bytes(id) }}', '')
                {%- endfor %}
            )
    end
    {%- else -%}
    cast(null as string)
    {%- endif -%}
{%- endmacro %}


{% macro _column_id_bytes(id) -%}
    {{ '%02X%02X%02X%02X' | format(id % 256, id // 256 % 256, id // 65536 % 256, id // 16777216) }}
{%- endmacro %}
