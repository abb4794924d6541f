{#- The canonical log (one row per log record) from landed lines of wal2json, format version 2: the body of a model,
    materialised as view, table or incremental (append). Only whole transactions, in the order of their commits, each
    once; `_log.yml` tells the arguments. How values are encoded the change tables ask: the lines' own types, in the
    column `encodings`, and `types` in this model's meta (macros/images/encodings.sql). -#}
{% macro wal2json_log(events, version=2, types=none) -%}
    {%- do dbt_cdc._wal2json_check_arguments(version, types) -%}
    {{- config(meta={'cdc_source_types': types or {}}) -}}
    {%- set is_incremental = execute and is_incremental() -%}
    {%- do dbt_cdc._wal2json_check_log(this) if is_incremental -%}
    {%- set batch = dbt_cdc._wal2json_batch(events, this, is_incremental) -%}
    {%- do dbt_cdc._wal2json_check_old_lines(events, batch) if batch.has_old_lines -%}
    {%- do dbt_cdc._wal2json_note(this, batch) if dbt_cdc._is_building() -%}
with {{ dbt_cdc._wal2json_lines(events, batch) }},

{{ dbt_cdc._wal2json_attempts(batch) }},

{{ dbt_cdc._wal2json_transactions(events, batch) }},

{{ dbt_cdc._wal2json_records(batch) }}

select * from records
{{- dbt_cdc._appended_once("lsn > '" ~ dbt_cdc._debezium_lsn(batch.last_commit) ~ "'") if batch.is_incremental }}
{%- endmacro %}


{#- Refuses what the adapter does not know, naming what it knows. -#}
{% macro _wal2json_check_arguments(version, types) %}
    {% do dbt_cdc.raise_cdc_error(
        22988, "wal2json_log: version '" ~ version ~ "' is not supported",
        'wal2json_log reads format version 2, a line for each change: set format-version=2 where wal2json is '
        ~ 'started (pg_recvlogical -o format-version=2)'
    ) if version | string != '2' %}
    {% do dbt_cdc._check_names_tables('wal2json_log', 'types', types) %}
    {% do dbt_cdc._check_adapter_types('wal2json_log', types, "{'avatar': 'binary(hex)'}") %}
{% endmacro %}


{#- Refuses to append to a table that is no log of this adapter. -#}
{% macro _wal2json_check_log(log) %}
    {% set columns = adapter.get_columns_in_relation(log) | map(attribute='name') | list %}
    {% set missing = ['encodings', 'source_lsn', 'events', 'balance', 'resume_position']
        | reject('in', columns) | list %}
    {% do dbt_cdc.raise_cdc_error(
        22901, 'wal2json_log: ' ~ log ~ ' lacks columns (' ~ missing | join(', ') ~ '), so something else has '
        ~ 'written it',
        'write it anew out of the lines: dbt run --full-refresh --select ' ~ dbt_cdc._selected(log)
    ) if missing %}
{% endmacro %}


{#- Notes that this command has written the log, and what waits, for the command's end. -#}
{% macro _wal2json_note(log, batch) %}
    {% set waiting = [] %}
    {% do waiting.append({
        'tran_id': batch.open_transaction, 'since': batch.open_time, 'first_position': batch.open_position,
        'reason': 'its lines have landed from position ' ~ batch.open_position ~ ' on, its C has not',
    }) if batch.open_position is not none %}
    {% do dbt_cdc._note_adapter({'log': log, 'waiting': waiting}) %}
{% endmacro %}
