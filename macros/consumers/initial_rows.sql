{#- The content that a model's first window begins with, and values that are not as the log has them. -#}

{#- Of net changes, one row a key: an initial row that the window changes is left out, and tells what a
    partial image does not. -#}
{% macro _with_initial_rows(changes, window, columns) -%}
    {%- set key -%}
        {%- for name in window.instance.index_columns -%}
            {%- set column = dbt_cdc._column(name) -%}
            {{ 'rtrim(initial.' ~ column ~ ') <=> rtrim(changes.' ~ column ~ ')'
                if dbt_cdc._is_char(dbt_cdc._declared_type(name, window))
                else 'initial.' ~ column ~ ' <=> changes.' ~ column }}
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
    {%- set declared = dbt_cdc._declared_type(name, window) -%}
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


{#- The type that a captured column has in the change table; metadata has none. -#}
{% macro _declared_type(name, window) %}
    {% set place = dbt_cdc._find_ordinal(window.instance.columns, name) %}
    {% do return(window.instance.columns[place - 1].data_type if place else '') %}
{% endmacro %}


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
