{#- Whether the log's model is an adapter, which appends whole transactions. Its code is there without a statement. -#}
{% macro _log_is_of_adapter() %}
    {% set log_model = var('cdc_log_model', none) %}
    {% for node in graph.nodes.values() if node.resource_type == 'model' and node.name == log_model %}
        {% for adapter in ['debezium_log', 'wal2json_log', 'change_table_log', 'dms_log']
            if adapter ~ '(' in (node.raw_code or '') %}
            {% do return(true) %}
        {% endfor %}
    {% endfor %}
    {% do return(false) %}
{% endmacro %}


{#- The transactions of the last window that have more records now than it had. -#}
{% macro _grown_transactions_sql(scanned_lsn) -%}
    select
        known.commit_lsn,
        known.tran_id,
        known.record_count as captured_records,
        count(*) as records,
        collect_set(named_struct('source_schema', log.source_schema, 'source_name', log.source_name)) as tables
    from {{ dbt_cdc._state_relation('scan_transactions') }} as known
    inner join {{ dbt_cdc._log_relation() }} as log
        on known.tran_id = log.tran_id and log.lsn between known.begin_lsn and known.commit_lsn
    where known.window_to_lsn = '{{ scanned_lsn }}' and log.lsn <= '{{ scanned_lsn }}'
    group by known.commit_lsn, known.tran_id, known.record_count
    having count(*) > known.record_count
{%- endmacro %}


{#- Which of them are of captured or tracked tables, at or above the low end of an instance. -#}
{% macro _check_grown_transactions(found, state) %}
    {% set grown = dbt_cdc._fetch(dbt_cdc._grown_of_captured_sql(state))[0] if found.get('has_grown') else {} %}
    {% if grown.transactions %}
        {% set what = 'transaction ' ~ grown.tran_id ~ ' of ' ~ grown.tables ~ ', with the commit ' ~ grown.commit_lsn
            ~ ', has ' ~ grown.records ~ ' records in the log and had ' ~ grown.captured_records
            ~ ' when it was captured: the others landed too late' %}
        {% if var('cdc_late_commits', 'stop') == 'pass' %}
            {% do dbt_cdc._log_line(what ~ '; no change table has them') %}
        {% else %}
            {% do dbt_cdc.raise_cdc_error(
                22859, what,
                'a COMMIT may become visible only with all records of its transaction; to capture them: late commits '
                ~ '(' ~ dbt_cdc._page('monitoring.md') ~ '); to go on without them, give vars: '
                ~ '{cdc_late_commits: pass}'
            ) %}
        {% endif %}
    {% endif %}
{% endmacro %}


{% macro _grown_of_captured_sql(state) -%}
    select
        count(*) as transactions,
        min(commit_lsn) as commit_lsn,
        min_by(tran_id, commit_lsn) as tran_id,
        min_by(records, commit_lsn) as records,
        min_by(captured_records, commit_lsn) as captured_records,
        min_by(names, commit_lsn) as tables
    from (
        select
            *,
            array_join({{ dbt_cdc._indent(dbt_cdc._captured_among('tables', state), 12) }}, ', ') as names
        from (
            {{ dbt_cdc._indent(dbt_cdc._grown_transactions_sql(state.scanned_lsn), 12) }}
        )
    )
    where names <> ''
{%- endmacro %}


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
