{#- The changes of a capture instance that this model has not consumed yet, to be used after `from` in an
    incremental, replica or history model. `mode`: 'all', 'all update old', 'net', 'net with mask' or 'net
    with merge'; by itself net in a replica, otherwise all. `initial`: a relation with the table's rows as
    of `initial_lsn`, to start from where the changes do not go back far enough. -#}
{% macro new_changes(
    capture_instance, mode=none, initial=none, initial_lsn=none, with_commit_time=none
) -%}
    {%- if not execute -%}
        {%- do dbt_cdc._depend_on_instances([capture_instance]) -%}
        {%- do dbt_cdc._state_relation('consumer_bookmarks') -%}
        {%- if model.resource_type == 'model' -%}
            {{- config(pre_hook='{{ dbt_cdc._open_bookmarks() }}') -}}
        {%- endif -%}
    {%- else -%}
        {%- do dbt_cdc._check_hooks() -%}
        {%- set window = dbt_cdc._consumer_window(capture_instance, mode, initial, initial_lsn) -%}
        {%- set of_history = window.kind == 'all' and config.get('materialized') == 'history' -%}
        {%- do window.update(
            more=['__$command_id'] if of_history else [],
            with_commit_time=of_history if with_commit_time is none else with_commit_time
        ) -%}
        {%- set text = dbt_cdc._indent(dbt_cdc._new_changes_sql(window), 4) -%}
        {%- do dbt_cdc._consumer().texts.append(text) %}
    (
        {{ text }}
    )
    {%- endif -%}
{%- endmacro %}


{#- The table's initial rows count as inserts at `initial_lsn`, before the changes. `--empty` takes neither. -#}
{% macro _new_changes_sql(window) -%}
    {%- set changes = dbt_cdc._changes_in(window) if window.has_news else dbt_cdc._no_changes(window) -%}
    {{ dbt_cdc._with_initial_rows(changes, window) if window.initial and not flags.EMPTY else changes }}
{%- endmacro %}


{% macro _changes_in(window) -%}
    {%- set asked = dbt_cdc._query_window(
        'get_' ~ window.kind ~ '_changes', window.instance.name, window.from_lsn, window.to_lsn,
        window.option) -%}
    {%- do asked.update(
        skips_unchanged=window.skips_unchanged, keeps_gone=window.keeps_gone,
        is_settled=config.get('materialized') == 'history') -%}
    {{ dbt_cdc._with_commit_time(
        dbt_cdc._net_changes_sql(asked) if window.kind == 'net'
        else dbt_cdc._all_changes_sql(asked, window.more),
        asked, window.with_commit_time) }}
{%- endmacro %}


{#- Name -> type of these changes. -#}
{% macro _new_changes_columns(window) %}
    {% set metadata = ['__$start_lsn', '__$seqval', '__$operation', '__$update_mask'] + window.more %}
    {% set columns = dbt_cdc._typed_columns(
        window.instance.columns,
        metadata if window.kind == 'all' else metadata | reject('equalto', '__$seqval')) %}
    {% do columns.update({'__$commit_time': 'timestamp'}) if window.with_commit_time %}
    {% do return(columns) %}
{% endmacro %}


{% macro _no_changes(window) -%}
select
    {%- for name, data_type in dbt_cdc._new_changes_columns(window).items() %}
    cast(null as {{ data_type }}) as {{ dbt_cdc._column(name) }}{{ ',' if not loop.last }}
    {%- endfor %}
where false
{%- endmacro %}


{#- Of net changes, one row a key: an initial row that the window changes is left out, and tells what a
    partial image does not. -#}
{% macro _with_initial_rows(changes, window) -%}
    {%- set columns = dbt_cdc._new_changes_columns(window) -%}
    {%- set key -%}
        {%- for name in window.instance.index_columns -%}
            initial.{{ dbt_cdc._column(name) }} <=> changes.{{ dbt_cdc._column(name) }}
            {{- ' and ' if not loop.last }}
        {%- endfor -%}
    {%- endset -%}
    {%- set is_net = window.kind == 'net' -%}
    {%- set is_partial = is_net and window.instance.before_image == 'partial' -%}
with changes as (
    {{ dbt_cdc._indent(changes, 4) }}
),

initial as (
    select
        {%- for name, data_type in columns.items() %}
        {{ dbt_cdc._initial_value(name, data_type, window) }} as {{ dbt_cdc._column(name) }}
        {{- ',' if not loop.last }}
        {%- endfor %}
    from {{ window.initial }}
)

select initial.* from initial
    {%- if is_net %}
left anti join changes on {{ key }}
    {%- endif %}
union all
    {%- if is_partial %}
select
    {%- for name in columns %}
    {%- set column = dbt_cdc._column(name) %}
    {{ 'changes.' ~ column if name.startswith('__$') else dbt_cdc._known_or(
        column, 'changes', 'initial', window.instance, name) }} as {{ column }}{{ ',' if not loop.last }}
    {%- endfor %}
from changes
left join initial on {{ key }}
    {%- else %}
select * from changes
    {%- endif %}
{%- endmacro %}


{#- A value of a char(n) column is padded where its changes are: not in a replica or history. -#}
{% macro _initial_value(name, data_type, window) -%}
    {%- set place = dbt_cdc._find_ordinal(window.instance.columns, name) -%}
    {%- set declared = (window.instance.columns[place - 1].data_type if place else '') -%}
    {%- set value = 'cast(' ~ dbt_cdc._column(name) ~ ' as ' ~ data_type ~ ')' -%}
    {%- if name in ['__$start_lsn', '__$seqval'] -%} '{{ window.initial_lsn }}'
    {%- elif name == '__$operation' -%} 2
    {%- elif name in ['__$update_mask', '__$command_id'] -%} cast(null as {{ data_type }})
    {%- elif name == '__$commit_time' -%} {{ dbt_cdc._time_literal(window.initial_time) }}
    {%- elif not dbt_cdc._is_char(declared) -%} {{ value }}
    {%- elif config.get('materialized') in ['replica', 'history'] -%} rtrim({{ value }})
    {%- else -%} rpad({{ value }}, greatest({{ dbt_cdc._type_size(declared) }}, char_length({{ value }})))
    {%- endif -%}
{%- endmacro %}


{#- A value of an update's partial image: where it is NULL and its mask bit says that it did not change,
    the value before. -#}
{% macro _known_or(column, changes, before, instance, name) -%}
    case
        when {{ changes }}.`__$operation` = 4 and {{ changes }}.{{ column }} is null and not {# -#}
        {{ dbt_cdc._has_bit(
            dbt_cdc._find_ordinal(instance.columns, name), changes ~ '.`__$update_mask`',
            instance.columns | length) }}
            then {{ before }}.{{ column }}
        else {{ changes }}.{{ column }}
    end
{%- endmacro %}
