{#- Rows below the low ends, then what the state need not know any more. One question finds the tables
    that have such rows. Each instance gets `removed_rows`: how many, or 'failed', as where somebody has
    dropped the table. Gives what could not be removed: {table: 'failed', or 'readable' where the view still
    shows an old low end}. -#}
{% macro _remove_dead_rows(instances, is_job) %}
    {% set dead, readable, kept = {}, {}, {} %}
    {% for instance in instances %}
        {% set is_there = load_cached_relation(instance.relation) is not none %}
        {% do instance.update(removed_rows=0 if is_there else 'failed') %}
        {% do kept.update({instance.capture_instance: 'failed'}) if not is_there %}
        {% if is_there %}
            {% do dead.update({
                instance.relation | string: "`__$start_lsn` < '" ~ instance.new_low_end ~ "'"
            }) %}
            {% do readable.update({
                instance.relation | string: "capture_instance = "
                ~ dbt_cdc._literal(instance.capture_instance)
                ~ " and low_end < '" ~ instance.new_low_end ~ "'"
            }) %}
        {% endif %}
    {% endfor %}
    {% if is_job %}
        {% do dead.update(dbt_cdc._dead_state(instances)) %}
        {% do readable.update({
            dbt_cdc._state_relation('lsn_time_mapping') | string:
                "low_end < '" ~ dbt_cdc._lowest_low_end(instances) ~ "'"
        }) if instances %}
    {% endif %}
    {% set questions = [] %}
    {% for relation, condition in dead.items() %}
        {% do questions.append(
            '(select ' ~ loop.index0 ~ ' as place from ' ~ relation ~ ' where ' ~ condition ~ ' limit 1)'
        ) %}
    {% endfor %}
    {% set found = dbt_cdc._fetch(questions | join(' union all ')) | map(attribute='place') | sort %}
    {% for place in found %}
        {% set relation, condition = (dead.items() | list)[place] %}
        {% set removed = dbt_cdc._remove_rows(relation, condition, readable.get(relation)) %}
        {% set is_kept = removed in ['failed', 'readable'] %}
        {% set names = [] %}
        {% for instance in instances if instance.relation | string == relation %}
            {% do names.append(instance.capture_instance) %}
            {% do instance.update(removed_rows='failed' if is_kept else removed) %}
        {% endfor %}
        {% do kept.update({names[0] or relation.split('.')[-1]: removed}) if is_kept %}
    {% endfor %}
    {% do return(kept) %}
{% endmacro %}


{#- Transactions below all low ends, what was noted of published windows, old sessions and errors: {table:
    condition}. Of the last published window the open transactions are carried on. -#}
{% macro _dead_state(instances) %}
    {% set scanned_lsn = dbt_cdc._published_state().scanned_lsn %}
    {% set lowest = dbt_cdc._lowest_low_end(instances) %}
    {% set is_old = " < current_timestamp() - interval '" ~ var('cdc_monitoring_days', 30) | int ~ "' day" %}
    {% set dead = {} %}
    {% for table, condition in {
        'lsn_time_mapping': "start_lsn < '" ~ lowest ~ "'",
        'scan_transactions': "window_to_lsn < '" ~ scanned_lsn ~ "' and (commit_lsn is null or "
            ~ "commit_lsn < '" ~ lowest ~ "')",
        'scan_progress': "window_to_lsn <= '" ~ scanned_lsn ~ "'",
        'scan_sessions': 'start_time' ~ is_old,
        'dm_cdc_errors': 'entry_time' ~ is_old,
        'job_requests': 'requested_at' ~ is_old,
        'mschange_tracking_history': 'start_time' ~ is_old,
    }.items() if dbt_cdc._has_state(table) %}
        {% do dead.update({dbt_cdc._state_relation(table) | string: condition}) %}
    {% endfor %}
    {% do return(dead) %}
{% endmacro %}


{% macro _lowest_low_end(instances) %}
    {% do return(
        instances | map(attribute='new_low_end') | min if instances
        else dbt_cdc._published_state().scanned_lsn
    ) %}
{% endmacro %}


{#- Removes rows in one DELETE (docs/decisions/0005): how many, or 'failed'. Delta refuses it where a
    capture wrote at the same time; then it is tried again. `readable` is true of validity intervals in which
    they can still be read: then they stay, and this is 'readable'. -#}
{% macro _remove_rows(relation, condition, readable=none) %}
    {% set delete = 'delete from ' ~ relation ~ ' where ' ~ condition %}
    {% if var('cdc_sql_scripting', true) %}
        {% set attempt = dbt_cdc._delete_unless_readable(delete, readable) if readable
            else delete ~ ";\nselect 'done' as outcome" %}
        {% set script = dbt_cdc._on_failure(
            attempt, dbt_cdc._on_failure(attempt, "select 'failed' as outcome")) %}
        {% set outcome = dbt_cdc._fetch(script)[0].outcome %}
        {% if outcome != 'done' %}
            {% do return(outcome) %}
        {% endif %}
    {% else %}
        {% do run_query(delete) %}
    {% endif %}
    {% do return(dbt_cdc._last_metric(relation, 'DELETE', 'numDeletedRows')) %}
{% endmacro %}


{% macro _delete_unless_readable(delete, readable) -%}
if exists (select 1 from {{ dbt_cdc._validity_intervals() }} where {{ readable }}) then
    select 'readable' as outcome;
else
    {{ delete }};
    select 'done' as outcome;
end if
{%- endmacro %}


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
