{#- The scan: enters new instances, follows the window's DDL and records its transactions, in one atomic
    statement that does nothing if a window after the published position already exists
    (docs/decisions/0001). A window that an earlier run left open is resumed. -#}
{% materialization scan, default %}
    {% set relation = this.incorporate(type='table') %}
    {{ run_hooks(pre_hooks) }}
    {% do dbt_cdc._ensure_state_tables() %}
    {% if dbt_cdc._is_building() and dbt_cdc._participants() %}
        {% do dbt_cdc._check_log_is_there() %}
        {% do dbt_cdc._tell_of_store(load_cached_relation(relation)) %}
        {% do dbt_cdc._scan(relation, compiled_code) %}
    {% elif dbt_cdc._is_building() and load_cached_relation(dbt_cdc._validity_intervals()) is not none %}
        {% do dbt_cdc._close_window_of_nobody(relation) %}
    {% endif %}
    {% do return(dbt_cdc._end_of_model(relation, 'no window to open')) %}
{% endmaterialization %}


{#- A window that nobody is left to capture would be the first one of a table that is enabled later. -#}
{% macro _close_window_of_nobody(transactions) %}
    {% set conditions = ["window_to_lsn > '" ~ dbt_cdc._published_state().scanned_lsn ~ "'"] %}
    {% for table in ['change_tables', 'change_tracking_tables'] if dbt_cdc._has_state(table) %}
        {% do conditions.append('not exists (select 1 from ' ~ dbt_cdc._state_relation(table) ~ ')') %}
    {% endfor %}
    {% set to_lsn = dbt_cdc._fetch(
        'select max(window_to_lsn) as lsn from ' ~ transactions ~ ' where ' ~ conditions | join(' and '))[0].lsn %}
    {% if to_lsn %}
        {% do run_query(dbt_cdc._validity_intervals_sql([], to_lsn)) %}
        {% do dbt_cdc._log_line('nobody captures the window up to ' ~ to_lsn ~ ' any more, which a run has left open: '
            ~ 'what is enabled now begins behind it') %}
    {% endif %}
{% endmacro %}


{% macro _check_log_is_there() %}
    {% do dbt_cdc.raise_cdc_error(
        22901, 'the log ' ~ dbt_cdc._log_relation() ~ ' is not there',
        'build its model or land its first rows; or name another one (cdc_log_model, cdc_log_source)'
    ) if not dbt_cdc._window_to_scan().log %}
{% endmacro %}


{#- On S3 Delta's default log store lets two Sparks write the same version of a table, and one commit is lost. Whoever
    has named a log store has chosen. dbt's list of tables tells the location of those that an earlier run has made,
    so that a statement is sent on S3 alone. -#}
{% macro _tell_of_store(present) %}
    {% set place = modules.re.search('Location: (s3[an]?)://', present.information or '') %}
    {% if place and target.type != 'databricks' %}
        {% set name = 'spark.delta.logStore.' ~ place[1] ~ '.impl' %}
        {% do dbt_cdc._log_line(
            'the tables are on ' ~ place[1] ~ '://, where of two Sparks that write at once one may lose its '
            ~ 'commit: do one run at a time, or name a log store that lets several write, ' ~ name
            ~ ' (' ~ dbt_cdc._page('install.md') ~ '#two-runs-at-once)'
        ) if dbt_cdc._session_setting(name) == '<undefined>' %}
    {% endif %}
{% endmacro %}


{% macro _scan(relation, rows) %}
    {% do dbt_cdc._enter_phase(2) %}
    {% set window = dbt_cdc._window_to_scan() %}
    {% set state = window.state %}
    {% do dbt_cdc._register_tracked_tables(state, window) if window.to_lsn or window.log_end %}
    {% if window.log_end %}
        {% set window = dbt_cdc._with_state(dbt_cdc._open_window(relation, rows, state.scanned_lsn), state) %}
    {% endif %}
    {% do dbt_cdc._report_ended_instances(window) %}
    {% if window.to_lsn %}
        {% do dbt_cdc._enter_phase(3) %}
        {% do dbt_cdc._check_reaches_floor(window) %}
        {% do dbt_cdc._register_instances(window) %}
        {% do dbt_cdc._check_spelling(window) %}
        {% do dbt_cdc._check_names_of_window(window) %}
        {% do dbt_cdc._check_tracked_names_of_window(window, dbt_cdc._tracked_tables().values()) %}
        {% do window.update(is_checked=true, versions=dbt_cdc._window_versions(window)) %}
        {#- asked once, before the change tables ask in threads of their own -#}
        {% do dbt_cdc._encodings_of_log(window) %}
        {% do dbt_cdc._log_line(
            'scan window: after ' ~ window.previous_lsn ~ ' up to ' ~ window.to_lsn ~ ', '
            ~ '{:,} transactions of {:,} log records'.format(window.transactions | int, window.record_count | int)
            ~ ('; an earlier run left it open, newer commits wait for the next run' if window.has_newer)
        ) %}
    {% else %}
        {% set new = dbt_cdc._capture_instances().keys() | reject('in', state.intervals) | join(', ') %}
        {% do dbt_cdc._log_line('nothing to capture after ' ~ window.previous_lsn
            ~ ('; ' ~ new ~ ': enabled with the next commit in the log' if new)) %}
    {% endif %}
    {% do dbt_cdc._invocation_cache().update(window=window) %}
{% endmacro %}
