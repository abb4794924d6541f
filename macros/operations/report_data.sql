{#- What scripts/report.py shows: the last scans and errors, the change tables, the jobs. The answer
    is a line of JSON in dbt's debug log; times are text. Where nothing was ever captured it makes no
    table. -#}
{% macro _report_data(sessions=2000, errors=50) %}
    {% if execute %}
        {% set data = {
            'target': target.name, 'schema': target.schema,
            'made': run_started_at.strftime('%Y-%m-%d %H:%M:%S'),
            'sessions': [], 'tables': [], 'errors': [], 'error_days': [], 'jobs': [], 'consumers': [],
        } %}
        {% set change_tables = dbt_cdc._state_relation('change_tables') %}
        {% if load_cached_relation(change_tables) is not none %}
            {% do dbt_cdc._ensure_state_tables() %}
            {% do data.update(
                schema=change_tables.schema,
                sessions=dbt_cdc._report_rows(dbt_cdc._report_sessions_sql(sessions | int)),
                tables=dbt_cdc._report_tables(),
                errors=dbt_cdc._report_errors(errors | int),
                error_days=dbt_cdc._report_rows(
                    'select cast(cast(entry_time as date) as string) as entry_day, count(*) as error_count from '
                    ~ dbt_cdc._state_relation('dm_cdc_errors') ~ ' group by 1'),
                consumers=dbt_cdc._report_rows(dbt_cdc._report_consumers_sql())
                    if dbt_cdc._has_state('consumer_bookmarks') else [],
            ) %}
            {% for job in dbt_cdc._jobs().values() %}
                {% do data.jobs.append(dict(job, threshold=dbt_cdc._shown_threshold(job))) %}
            {% endfor %}
        {% endif %}
        {% do log('cdc report: ' ~ tojson(data)) %}
    {% endif %}
{% endmacro %}


{#- The rows of a query, in any order. As JSON, numbers and arrays are the same from any target. -#}
{% macro _report_rows(query) %}
    {% do return(fromjson(run_query(dbt_cdc._as_json(query)).rows[0][0])) %}
{% endmacro %}


{#- The aggregate and the last scans, with the rows of each table that got any. -#}
{% macro _report_sessions_sql(limit) -%}
    select
        sessions.session_id,
        cast(sessions.start_time as string) as start_time,
        cast(sessions.end_time as string) as end_time,
        sessions.scan_phase,
        sessions.duration,
        sessions.latency,
        sessions.error_count,
        sessions.end_lsn,
        sessions.tran_count,
        sessions.command_count,
        cast(sessions.last_commit_cdc_time as string) as last_commit_cdc_time,
        sessions.empty_scan_count,
        sessions.failed_sessions_count,
        sessions.waiting_for,
        filter(runs.captured_rows, captured -> captured.row_count > 0) as captured_rows
    from (
        {{ dbt_cdc._view_sql('dm_cdc_log_scan_sessions') }}
    ) as sessions
    left join {{ dbt_cdc._state_relation('scan_sessions') }} as runs
        on sessions.session_id = runs.session_id and sessions.start_time = runs.start_time
    order by sessions.session_id = 0 desc, sessions.start_time desc
    limit {{ limit + 1 }}
{%- endmacro %}


{% macro _report_consumers_sql() -%}
    select
        consumer,
        capture_instance,
        mode,
        last_lsn,
        cast(last_time as string) as last_time,
        lag_seconds,
        lag_transactions,
        is_stale
    from (
        {{ dbt_cdc._view_sql('cdc_consumers') }}
    ) as consumers
{%- endmacro %}


{% macro _report_errors(limit) %}
    {% set last_errors -%}
    select
        cast(entry_time as string) as entry_time,
        session_id,
        phase_number,
        error_number,
        error_message
    from {{ dbt_cdc._state_relation('dm_cdc_errors') }} as errors
    order by errors.entry_time desc
    limit {{ limit }}
    {%- endset %}
    {% set errors = dbt_cdc._report_rows(last_errors) %}
    {% for error in errors %}
        {% set number = error.phase_number %}
        {% do error.update(phase=dbt_cdc._phase_text(number) if number else 'Cleanup') %}
    {% endfor %}
    {% do return(errors) %}
{% endmacro %}


{#- All change tables with their validity intervals. Delta knows files and bytes without reading the
    data, and rows where nothing but count(*) is asked: hence the subqueries. -#}
{% macro _report_tables() %}
    {% set intervals = dbt_cdc._published_state().intervals %}
    {% set tables, counts = {}, [] %}
    {% for instance in dbt_cdc._registered_instances() %}
        {% set name = instance.capture_instance %}
        {% set interval = intervals.get(name | lower, {}) %}
        {% set is_there = load_cached_relation(instance.relation) is not none %}
        {% set table = {
            'capture_instance': name, 'change_table': instance.relation.identifier,
            'is_there': is_there, 'low_end': instance.low_end,
            'low_time': interval.low_time, 'high_end': interval.high_end,
            'high_time': interval.high_time,
        } %}
        {% if is_there %}
            {% set detail = dbt_cdc._fetch('describe detail ' ~ instance.relation)[0] %}
            {% do table.update(bytes=detail.sizeInBytes | int, files=detail.numFiles | int) %}
            {% do counts.append(
                'select ' ~ dbt_cdc._literal(name) ~ ' as capture_instance, (select count(*) from '
                ~ instance.relation ~ ') as row_count'
            ) %}
        {% endif %}
        {% do tables.update({name: table}) %}
    {% endfor %}
    {% for count in (dbt_cdc._report_rows(counts | join(' union all ')) if counts else []) %}
        {% do tables[count.capture_instance].update(row_count=count.row_count) %}
    {% endfor %}
    {% do return(tables.values() | list) %}
{% endmacro %}
