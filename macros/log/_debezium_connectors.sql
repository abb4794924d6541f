{#- What differs between the connectors in each statement. -#}

{#- What a batch says of its connector: whether it reads a binary log, or SQL Server's change tables. -#}
{% macro _debezium_connector(connector) %}
    {% do return({
        'connector': connector,
        'is_binlog': connector in ['mysql', 'mariadb'],
        'is_sqlserver': connector == 'sqlserver',
    }) %}
{% endmacro %}


{#- The position of an event in the source's log; NULL where it tells none. A number, of SQL Server an LSN. -#}
{% macro _debezium_wal(batch, or_else=none) -%}
{%- if batch.is_binlog -%} {{ dbt_cdc._debezium_binlog_place() }}
{%- elif batch.is_sqlserver -%}
{{ dbt_cdc._debezium_sqlserver_lsn(
    'coalesce(source.commit_lsn, ' ~ or_else ~ ')' if or_else else 'source.commit_lsn') }}
{%- else -%} cast({{ 'coalesce(source.lsn, ' ~ or_else ~ ')' if or_else else 'source.lsn' }} as bigint)
{%- endif -%}
{%- endmacro %}


{#- The place of an event as a number: 24 bits for the file, 32 for the position. -#}
{% macro _debezium_binlog_place() -%}
try_cast(regexp_extract(source.file, '[.]([0-9]+)\\z', 1) as bigint) * {{ 2 ** 32 }} + try_cast(source.pos as bigint)
{%- endmacro %}


{#- An LSN as Debezium writes it, 8, 8 and 4 digits, as an LSN of the log; NULL of another text. -#}
{% macro _debezium_sqlserver_lsn(text) -%}
case
            when {{ text }} rlike '{{ dbt_cdc._debezium_sqlserver_pattern() }}'
                then concat('0x', upper(replace({{ text }}, ':', '')))
        end
{%- endmacro %}


{% macro _debezium_sqlserver_pattern() -%}
^[0-9A-Fa-f]{8}:[0-9A-Fa-f]{8}:[0-9A-Fa-f]{4}\\z
{%- endmacro %}


{#- The columns of `events`, but for those of SQL Server. The halves of a key change are told by the headers that link
    them, or by a created row that lacks values. -#}
{% macro _debezium_event_columns(batch) %}
    {% do return(
        ['position', 'kind', 'xid', 'wal', 'slot', 'event_count', 'record_time', 'source_schema', 'source_name']
        + ['has_key'] + (['has_old_key', 'has_new_key'] if batch.is_binlog else ['lacks_values'])
        + ['before', 'after', 'encodings', 'snapshot_mark', 'snapshot_row']
        + (['snapshot_key'] if batch.has_later_rows else []) + ['content']
        + (['server'] if batch.is_binlog else []) + (['ended_at'] if batch.has_untold else [])
    ) %}
{% endmacro %}


{#- A row of `events` that did not land: `told` has the SQL of the columns that tell something. -#}
{% macro _debezium_event(batch, told) -%}
    {%- for name in dbt_cdc._debezium_event_columns(batch) %}
    {{- '\n        ' if not loop.first }}
    {{- told.get(name, 'false' if name.startswith('has_') or name == 'lacks_values' else 'null') }} as {{ name }}
    {{- ',' if not loop.last }}
    {%- endfor %}
{%- endmacro %}


{#- Why the last transaction of a connector without transaction metadata waits, as a rule. -#}
{% macro _no_later_one() %}
    {% do return('no later transaction has landed, which tells where this one ended') %}
{% endmacro %}
