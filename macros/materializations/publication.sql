{#- The body of lsn_time_mapping, the publication: one row for each transaction of the window that left a row in
    any change table. An INSERT or DELETE always does; whether an UPDATE has, or anything that an edited model may
    leave out, only the change table tells, and reading one costs more than all the rest. -#}
{% macro publication() -%}
    {%- if execute -%}
        {%- do dbt_cdc._check_configs() -%}
{{ dbt_cdc._mapping_rows(dbt_cdc.scan_window()) }}
    {%- else -%}
        {%- do dbt_cdc._log_relation() -%}
        {%- do dbt_cdc._declare_state() -%}
        {%- for name in dbt_cdc._listed_models() -%}
            {%- do dbt_cdc._ref_of_project(name) -%}
        {%- endfor -%}
    {%- endif -%}
{%- endmacro %}


{#- Publishes the window that all instances have captured: its transactions, then the new validity
    intervals. Each step can be repeated; the last one shows the window to readers. -#}
{% materialization publication, default %}
    {% set relation = this.incorporate(type='table') %}
    {{ run_hooks(pre_hooks) }}
    {% do dbt_cdc._ensure_state_tables() %}
    {% set window = dbt_cdc.scan_window() %}
    {% if dbt_cdc._is_building() and window.to_lsn %}
        {% set missing = dbt_cdc._missing_captures(window) %}
        {% if missing %}
            {% do dbt_cdc._log_line(
                'not published: ' ~ missing | join(', ') ~ ' did not capture the window up to '
                ~ window.to_lsn
            ) %}
        {% else %}
            {% do dbt_cdc._publish_window(relation, window, compiled_code) %}
        {% endif %}
    {% elif dbt_cdc._is_building() %}
        {% do dbt_cdc._publish_lost_view() %}
    {% endif %}
    {% do return(dbt_cdc._end_of_model(relation, 'nothing to publish')) %}
{% endmaterialization %}


{% macro _publish_window(mapping, window, rows) %}
    {% do dbt_cdc._enter_phase(7) %}
    {% do dbt_cdc._announce_new_instances(window) %}
    {% do dbt_cdc._follow_roles() %}
    {% do dbt_cdc._end_abandoned_instances(window) %}
    {% do dbt_cdc._raise_emptied_low_ends(window) %}
    {% do dbt_cdc._publish_versions(window) %}
    {#- A run that died before it published may have entered them; with a new instance row by row, for that run may have
        come before it. -#}
    {% set is_there = 'start_lsn = appended.start_lsn' if dbt_cdc._new_instances(window)
        else "start_lsn > '" ~ window.previous_lsn ~ "'" %}
    {% set intervals = dbt_cdc._main_write_and_fetch(
        dbt_cdc._insert_once(mapping, rows, is_there),
        dbt_cdc._intervals_sql(window.state.high_end or dbt_cdc._zero_lsn())
    ) if dbt_cdc._capture_instances() else none %}
    {% do dbt_cdc._publish_validity_intervals(
        window.to_lsn, window.state, intervals, dbt_cdc._capture_instances().keys()) %}
    {% do dbt_cdc._enter_phase(8) %}
    {% do dbt_cdc._invocation_cache().update(is_published=true) %}
    {% do dbt_cdc._log_line('published up to ' ~ window.to_lsn) %}
    {% do dbt_cdc._report_first_capture(window) if window.previous_lsn == dbt_cdc._zero_lsn() %}
    {#- asked once, before the consumers ask in threads of their own -#}
    {% do dbt_cdc._consumed_state() if dbt_cdc._has_consumers(selected_resources) %}
{% endmacro %}
