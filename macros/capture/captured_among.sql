{#- The names of those of a transaction's tables (SQL) that are captured or tracked from its `commit_lsn` on. -#}
{% macro _captured_among(tables, state) -%}
transform(
    filter(
        {{ dbt_cdc._indent(dbt_cdc._tables_since(state), 8) }},
        captured -> commit_lsn >= captured.low_end and exists(
            {{ dbt_cdc._indent(tables, 12) }},
            changed -> changed.source_schema = captured.source_schema
                and changed.source_name = captured.source_name
        )
    ),
    captured -> concat(captured.source_schema, '.', captured.source_name)
)
{%- endmacro %}


{#- The tables that the run captures or tracks, and where their changes begin. -#}
{% macro _tables_since(state) -%}
    {%- set tracked = dbt_cdc._read_tracking(state.scanned_lsn).tables if dbt_cdc._tracked_tables() else {} -%}
    array(
        {%- for participant in dbt_cdc._participants().values() %}
        named_struct(
            'source_schema', {{ dbt_cdc._literal(participant.source_schema) }},
            'source_name', {{ dbt_cdc._literal(participant.source_name) }},
            'low_end', {{ dbt_cdc._literal(state.intervals.get(participant.name | lower, {}).low_end or (
                tracked.get(participant.name, {}).begin_lsn or '0xG')) }}
        ){{ ',' if not loop.last }}
        {%- endfor %}
    )
{%- endmacro %}
