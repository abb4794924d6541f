{#- Removes rows in one DELETE (docs/decisions/0005): how many, or 'failed'. Delta refuses it where a
    capture wrote at the same time; then it is tried again. -#}
{% macro _remove_rows(relation, condition) %}
    {% if not dbt_cdc._fetch('select 1 as one from ' ~ relation ~ ' where ' ~ condition ~ ' limit 1') %}
        {% do return(0) %}
    {% endif %}
    {% set delete = 'delete from ' ~ relation ~ ' where ' ~ condition %}
    {% if var('cdc_sql_scripting', true) %}
        {% set attempt = delete ~ ";\nselect 'done' as outcome" %}
        {% set script = dbt_cdc._on_failure(
            attempt, dbt_cdc._on_failure(attempt, "select 'failed' as outcome")) %}
        {% if dbt_cdc._fetch(script)[0].outcome != 'done' %}
            {% do return('failed') %}
        {% endif %}
    {% else %}
        {% do run_query(delete) %}
    {% endif %}
    {% for row in dbt_cdc._fetch('describe history ' ~ relation ~ ' limit 9')
        if row.operation == 'DELETE' %}
        {% set metrics = row.operationMetrics | string %}
        {% do return(modules.re.search('numDeletedRows\\W+(\\d+)', metrics)[1] | int) %}
    {% endfor %}
{% endmacro %}


{#- Transactions below all low ends, and what was noted of windows that are published: of the last one
    its open transactions are carried on. -#}
{% macro _trim_state(instances) %}
    {% set scanned_lsn = dbt_cdc._published_state().scanned_lsn %}
    {% set lowest = instances | map(attribute='new_low_end') | min %}
    {% for table, condition in {
        'lsn_time_mapping': "start_lsn < '" ~ lowest ~ "'",
        'scan_transactions': "window_to_lsn < '" ~ scanned_lsn ~ "'",
        'scan_progress': "window_to_lsn <= '" ~ scanned_lsn ~ "'",
    }.items() %}
        {% do dbt_cdc._remove_rows(dbt_cdc._state_relation(table), condition) %}
    {% endfor %}
{% endmacro %}


{#- What a cleanup would remove: of each table rows, whole files and their bytes. -#}
{% macro _removable(instances) %}
    {% set lines = [] %}
    {% for instance in instances %}
        {% set below = "`__$start_lsn` < '" ~ instance.new_low_end ~ "'" %}
        {% set found = dbt_cdc._fetch(
            'select coalesce(sum(dead), 0) as `rows`, count_if(dead = total) as files, '
            ~ 'coalesce(sum(case when dead = total then size end), 0) as bytes from (select count(*) '
            ~ 'as total, count_if(' ~ below ~ ') as dead, max(_metadata.file_size) as size from '
            ~ instance.relation ~ ' group by _metadata.file_path) where dead > 0'
        )[0] %}
        {% do lines.append(dict(
            capture_instance=instance.capture_instance, low_end=instance.low_end,
            new_low_end=instance.new_low_end, rows_to_remove=found.rows, whole_files=found.files,
            bytes_of_files=found.bytes
        )) %}
    {% endfor %}
    {% do return(lines) %}
{% endmacro %}
