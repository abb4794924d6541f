{#- What a record does to keys. -#}

{#- The event's operation, or the error that stops the scan: a key without a value is none. -#}
{% macro _checked_event(tracked) -%}
    {%- set nulls = [] -%}
    {%- for name in tracked.index_columns -%}
        {%- do nulls.append('value.' ~ dbt_cdc._column(name) ~ ' is null') -%}
    {%- endfor -%}
    {%- set place -%}
        concat({{ dbt_cdc._literal('table ' ~ tracked.table ~ ', column '
            ~ tracked.index_columns | join(', ') ~ ', lsn ') }}, lsn)
    {%- endset -%}
    case
        when {{ nulls | join(' or ') }} then {{ dbt_cdc._raise_bad_record(
            place, "'the primary key has a column that is NULL or missing'") }}
        else element_at(array('D', 'I', '', 'U'), row_operation)
    end
{%- endmacro %}


{#- The order of a transaction's events. In one statement rows may swap keys: there all deletes come
    before the inserts. -#}
{% macro _event_order() -%}
    struct(
            command_id,
            if(command_id is null, lsn, '') as statement_lsn,
            row_operation <> 1 as is_after_deletes,
            lsn
        )
{%- endmacro %}


{#- An update's columns as bits of their ids, 56 in a number; NULL where it has changed all that are
    not of the key at once; a computed one never changes. -#}
{% macro _updated_columns(tracked) -%}
    {%- if tracked.tracks_columns -%}
        {%- set parts, alls, others = [], [], [0] -%}
        {%- for chunk in tracked.columns | batch(56) -%}
            {%- set bits = [0] -%}
            {%- for column in chunk if column.name not in tracked.index_columns and not dbt_cdc._is_computed(column) -%}
                {%- do bits.append(bits.pop() + 2 ** chunk.index(column)) -%}
            {%- endfor -%}
            {%- do parts.append('mask_' ~ loop.index) -%}
            {%- do others.append(others.pop() + bits[0]) -%}
            {%- do alls.append('mask_' ~ loop.index ~ ' & ' ~ bits[0] ~ ' = ' ~ bits[0]) -%}
        {%- endfor -%}
        {%- if others[0] -%}
        if({{ alls | join(' and ') }}, null, array({{ parts | join(', ') }}))
        {%- else -%}
        array({{ parts | join(', ') }})
        {%- endif -%}
    {%- else -%}
    cast(null as array<bigint>)
    {%- endif -%}
{%- endmacro %}


{#- The columns of several updates together. -#}
{% macro _column_bits(tracked) -%}
    {%- set parts = [] -%}
    {%- for chunk in tracked.columns | batch(56) -%}
        {%- do parts.append('bit_or(updated_columns[' ~ loop.index0 ~ '])') -%}
    {%- endfor -%}
    array({{ parts | join(', ') }})
{%- endmacro %}
