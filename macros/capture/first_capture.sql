{#- What the first publication of a schema has made, also by commands before this one, and what one can do with
    it; later runs say less. -#}
{% macro _report_first_capture(window) %}
    {% set rows, captured = [], dbt_cdc._invocation_cache().get('captured', {}) %}
    {% for name, instance in dbt_cdc._capture_instances() | dictsort
        if name in captured or load_cached_relation(instance.relation) is not none %}
        {% set count = captured[name] if name in captured
            else dbt_cdc._fetch('select count(*) as `rows` from ' ~ instance.relation)[0]['rows'] %}
        {% do rows.append(instance.name ~ ' ' ~ '{:,}'.format(count | int)) %}
    {% endfor %}
    {% set seconds = (modules.datetime.datetime.now(modules.pytz.utc) - run_started_at).total_seconds() %}
    {% do dbt_cdc._log_line('captured, in rows: ' ~ rows | join(', ') ~ '; ' ~ seconds | round | int ~ ' s') if rows %}
    {% set others, tracked = [], dbt_cdc._tracked_tables().values() | map(attribute='table') | sort %}
    {% for table in dbt_cdc._uncaptured(window.touched_tables) %}
        {% do others.append(table.source_schema ~ '.' ~ table.source_name) %}
    {% endfor %}
    {% do dbt_cdc._log_line(
        'in the log and not captured: ' ~ dbt_cdc._some(others | sort, 'tables')
        ~ '; dbt run-operation enable_table adds one'
    ) if others %}
    {% for _, instance in (dbt_cdc._capture_instances() | dictsort)[:1] %}
        {% set name = dbt_cdc._literal(instance.name) %}
        {% do dbt_cdc._log_line(
            'ask for changes: dbt show --inline "select * from {' ~ '{ dbt_cdc.get_all_changes(' ~ name
            ~ ', dbt_cdc.get_min_lsn(' ~ name ~ '), dbt_cdc.get_max_lsn()) }' ~ '}" --output json'
        ) %}
    {% endfor %}
    {% for table in tracked[:1] %}
        {% do dbt_cdc._log_line(
            'ask what changed after a version: dbt show --inline "select * from {' ~ '{ dbt_cdc.changetable_changes('
            ~ "'" ~ table ~ "', dbt_cdc.change_tracking_min_valid_version('" ~ table ~ "')) }" ~ '}" --output json'
        ) %}
    {% endfor %}
{% endmacro %}
