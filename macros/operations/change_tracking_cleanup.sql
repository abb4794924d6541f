{#- Run-operation, the cleanup of change tracking: versions older than the retention become invalid,
    then the side tables lose their rows, then, when all have, syscommittab. Readers of an invalid
    version get CDC 313 before any row goes; each step can be repeated. `auto`: as the agent calls
    it, only where auto cleanup is on. -#}
{% macro change_tracking_cleanup(dry_run=false, auto=false, compact=true, threshold=none) %}
    {% if execute %}
        {% set dry_run = dbt_cdc._as_boolean('dry_run', dry_run) %}
        {% set auto = dbt_cdc._as_boolean('auto', auto) %}
        {% set compact = dbt_cdc._as_boolean('compact', compact) %}
        {% do dbt_cdc._check_threshold(threshold) %}
        {% do dbt_cdc._ensure_state_tables('tracking') if dbt_cdc._has_state('syscommittab') %}
        {% set settings = dbt_cdc._tracking_settings() %}
        {% set cleanup = dbt_cdc._planned_cleanup(settings) %}
        {% if auto and not settings.is_auto_cleanup_on %}
            {% do dbt_cdc._log_line('change tracking cleanup: auto cleanup is off') %}
        {% elif not cleanup.tables %}
            {% do dbt_cdc._log_line('change tracking cleanup: nothing is published yet') %}
        {% elif dry_run %}
            {% do dbt_cdc._print_rows(dbt_cdc._removable_versions(cleanup)) %}
        {% else %}
            {% set started = dbt_cdc._now() %}
            {% do dbt_cdc._raise_min_valid_versions(cleanup) %}
            {% do dbt_cdc._note_steps(
                cleanup, started, ['Start', dbt_cdc._retention_step(settings, cleanup), 'UpdateInvalidCleanup']) %}
            {% do dbt_cdc._clean_side_tables(cleanup.tables, cleanup.version, threshold=threshold) %}
            {% do dbt_cdc._harden(cleanup) %}
            {% do dbt_cdc._clean_versions(
                dbt_cdc._state_relation('syscommittab'), 'commit_ts', cleanup.version, threshold=threshold) %}
            {% do dbt_cdc._note_steps(
                cleanup, dbt_cdc._now(), ['UpdateHardenedCleanup', 'End'],
                cleanup.tables | rejectattr('removed_rows')) %}
            {% do dbt_cdc._remove_dead_rows([], is_job=true, threshold=threshold)
                if not dbt_cdc._registered_instances() %}
            {% do dbt_cdc._tend_files(
                cleanup.tables + [{'relation': dbt_cdc._state_relation('syscommittab')}], compact, none) %}
            {% do dbt_cdc._print_cleaned(cleanup) %}
        {% endif %}
    {% endif %}
{% endmacro %}


{#- {version, tables}: the invalid cleanup version, and the published tables with what each loses
    (`mark`: rows up to it; more where it was truncated). -#}
{% macro _planned_cleanup(settings) %}
    {% set state = dbt_cdc._tracking_state() %}
    {% do return({'version': 0, 'tables': []}) if state.current_version is none %}
    {% set version = [
        dbt_cdc._fetch(dbt_cdc._invalid_version_sql(state, settings))[0].version | int,
        settings.invalid_cleanup_version,
    ] | max %}
    {% set tables = [] %}
    {% for name, row in dbt_cdc._read_tracking(state.scanned_lsn).tables.items()
        if row.key in state.min_valid_versions or load_cached_relation(row.relation) is not none %}
        {% do tables.append(dict(row, mark=[version, row.min_valid_version | int] | max)) %}
    {% endfor %}
    {% do return({'version': version, 'tables': tables, 'scanned_lsn': state.scanned_lsn}) %}
{% endmacro %}


{#- Everything before the first version within the retention. Not the clock counts but the last
    commit: where tracking stalls, nothing more goes. The versions of a window that a run has left half published are
    shown, and the run that publishes it counts them again. -#}
{% macro _invalid_version_sql(state, settings) -%}
    {%- set minutes = settings.retention_period * {1: 1, 2: 60, 3: 1440}[settings.retention_period_units] -%}
    {%- set commits -%}
        {{ dbt_cdc._state_relation('syscommittab') }} where commit_ts <= {{ state.current_version }}
        and commit_lsn <= '{{ dbt_cdc._published_state().scanned_lsn }}'
    {%- endset -%}
    {%- set last_time = '(select ' ~ dbt_cdc._last_time_sql('commit_time') ~ ' from ' ~ commits ~ ')' -%}
    select coalesce(min(commit_ts) - 1, 0) as version
    from {{ dbt_cdc._commits_to_keep_sql(commits, 'commit_ts', 'commit_time', last_time, minutes) }}
{%- endmacro %}


{#- In one statement for all tables; then the view of versions shows it. -#}
{% macro _raise_min_valid_versions(cleanup) %}
    {% set ids = [] %}
    {% for table in cleanup.tables if table.min_valid_version < table.mark %}
        {% do ids.append(table.object_id) %}
    {% endfor %}
    {% do dbt_cdc._update_state(
        'change_tracking_tables', {'min_valid_version': cleanup.version},
        'min_valid_version < ' ~ cleanup.version ~ ' and object_id in (' ~ ids | join(', ') ~ ')') if ids %}
    {% do dbt_cdc._update_state(
        'change_tracking_databases', {'invalid_cleanup_version': cleanup.version},
        'invalid_cleanup_version < ' ~ cleanup.version) %}
    {% do dbt_cdc._publish_tracking_versions(cleanup.scanned_lsn) %}
{% endmacro %}


{#- Only when all side tables are clean: what a table could not remove needs its versions. -#}
{% macro _harden(cleanup) %}
    {% set failed = cleanup.tables | selectattr('removed_rows', 'equalto', 'failed')
        | map(attribute='name') | list %}
    {% if failed %}
        {% set problem = 'cleanup of ' ~ failed | join(', ') ~ ' failed' %}
        {% set advice = 'no query reads these rows any more; if the next cleanup fails too, see '
            ~ 'mschange_tracking_history and run flush_ct_internal_table_on_demand' %}
        {% do dbt_cdc._record_errors([{
            'error_number': 22123, 'error_message': dbt_cdc._error_text(22123, problem, advice),
        }]) %}
        {% do dbt_cdc._print_cleaned(cleanup) %}
        {% do dbt_cdc.raise_cdc_error(22123, problem, advice) %}
    {% endif %}
    {% do dbt_cdc._update_state(
        'change_tracking_databases', {'hardened_cleanup_version': cleanup.version},
        'hardened_cleanup_version < ' ~ cleanup.version) %}
{% endmacro %}


{% macro _print_cleaned(cleanup) %}
    {% set lines = [] %}
    {% for table in cleanup.tables %}
        {% do lines.append({
            'internal_table_name': table.name, 'cleanup_version': table.mark,
            'removed_rows': table.removed_rows,
        }) %}
    {% endfor %}
    {% do dbt_cdc._print_rows(lines) %}
{% endmacro %}


{#- What a cleanup would remove. -#}
{% macro _removable_versions(cleanup) %}
    {% set lines = [] %}
    {% set commits = {
        'name': 'syscommittab', 'relation': dbt_cdc._state_relation('syscommittab'),
        'min_valid_version': none, 'mark': cleanup.version, 'column': 'commit_ts',
    } %}
    {% for table in cleanup.tables + [commits] %}
        {% do lines.append({
            'internal_table_name': table.name, 'min_valid_version': table.min_valid_version,
            'new_min_valid_version': table.mark if table.min_valid_version is not none else none,
            'rows_to_remove': dbt_cdc._fetch(
                'select count(*) as `rows` from ' ~ table.relation ~ ' where '
                ~ table.column | default('sys_change_version') ~ ' <= ' ~ table.mark
            )[0]['rows'] if load_cached_relation(table.relation) is not none else none,
        }) %}
    {% endfor %}
    {% do return(lines) %}
{% endmacro %}
