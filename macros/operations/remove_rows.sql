{#- Rows below the low ends, then what the state need not know any more. One question counts such rows of all
    tables. Each instance gets `removed_rows`: how many, or 'failed'. Gives what could not be removed: {table: 'failed',
    'missing' where somebody has dropped the table, or 'readable' where the view still shows an old low end}. -#}
{% macro _remove_dead_rows(instances, is_job, threshold=none) %}
    {% set tables, kept, questions = [], {}, [] %}
    {% for instance in instances %}
        {% if load_cached_relation(instance.relation) is none %}
            {% do instance.update(removed_rows='failed') %}
            {% do kept.update({instance.capture_instance: 'missing'}) %}
        {% else %}
            {% do instance.update(removed_rows=0) %}
            {% do tables.append({
                'name': instance.capture_instance, 'relation': instance.relation, 'instance': instance,
                'is_dead': "`__$start_lsn` < '" ~ instance.new_low_end ~ "'", 'cut_by': '`__$start_lsn`',
                'is_readable': 'capture_instance = ' ~ dbt_cdc._literal(instance.capture_instance)
                    ~ " and low_end < '" ~ instance.new_low_end ~ "'",
            }) %}
        {% endif %}
    {% endfor %}
    {% do tables.extend(dbt_cdc._dead_state(instances)) if is_job %}
    {% for table in tables %}
        {% do questions.append('select ' ~ loop.index0 ~ ' as place, count(*) as dead from '
            ~ table.relation ~ ' where ' ~ table.is_dead) %}
    {% endfor %}
    {% set counted = dbt_cdc._fetch(questions | join(' union all ')) if questions else [] %}
    {% for found in counted | sort(attribute='place') if found.dead %}
        {% set table = tables[found.place] %}
        {% set removed = dbt_cdc._remove_rows(
            table.relation, table.is_dead, found.dead | int, table.cut_by, threshold, table.is_readable) %}
        {% set is_kept = removed in ['failed', 'readable'] %}
        {% do table.instance.update(removed_rows='failed' if is_kept else removed) if table.instance %}
        {% do kept.update({table.name: removed}) if is_kept %}
    {% endfor %}
    {% do return(kept) %}
{% endmacro %}


{#- Transactions below all low ends, what was noted of published windows, old sessions and errors: [{name,
    relation, is_dead, cut_by, is_readable}]. `cut_by` is the column that tells a table's transactions apart,
    in their order; notes of runs have none. Of the last published window the open transactions are carried
    on. -#}
{% macro _dead_state(instances) %}
    {% set published = dbt_cdc._published_state() %}
    {% set scanned_lsn = published.scanned_lsn %}
    {#- the low end of a table that was emptied last is above the high end, whose entry tells its time -#}
    {% set lowest = (instances | map(attribute='new_low_end') | list + [published.high_end or scanned_lsn]) | min %}
    {% set days = dbt_cdc._number_of_var('cdc_monitoring_days', 30, most=dbt_cdc._most_minutes() // 1440) %}
    {% set is_old = " < current_timestamp() - interval '" ~ days ~ "' day" %}
    {% set tables = [] %}
    {% for name, is_dead in {
        'lsn_time_mapping': "start_lsn < '" ~ lowest ~ "'",
        'scan_transactions': "window_to_lsn < '" ~ scanned_lsn ~ "' and (commit_lsn is null or "
            ~ "commit_lsn < '" ~ lowest ~ "')",
        'scan_progress': "window_to_lsn <= '" ~ scanned_lsn ~ "'",
        'scan_sessions': 'start_time' ~ is_old ~ ' and session_id < ' ~ dbt_cdc._last_session(),
        'dm_cdc_errors': 'entry_time' ~ is_old ~ ' and coalesce(session_id, 0) < ' ~ dbt_cdc._first_session_to_keep(),
        'job_requests': 'requested_at' ~ is_old,
        'event_balances': 'recorded_at' ~ is_old ~ ' and last_position < (select max(last_position) from '
            ~ dbt_cdc._state_relation('event_balances') ~ ')',
        'mschange_tracking_history': 'start_time' ~ is_old,
    }.items() if dbt_cdc._has_state(name) %}
        {% do tables.append({'name': name, 'relation': dbt_cdc._state_relation(name), 'is_dead': is_dead}) %}
    {% endfor %}
    {% do tables[0].update(
        cut_by='start_lsn', is_readable="low_end < '" ~ lowest ~ "'" if instances else none) %}
    {% do return(tables) %}
{% endmacro %}


{#- The last session that tells what is published stays. -#}
{% macro _last_session() %}
    {% do return(dbt_cdc._fetch('select coalesce(max(session_id), 0) as session_id from '
        ~ dbt_cdc._state_relation('scan_sessions') ~ ' where start_lsn is not null')[0].session_id) %}
{% endmacro %}


{#- As SQL Server: the errors of the last 32 sessions that had any stay. -#}
{% macro _first_session_to_keep() %}
    {% do return(dbt_cdc._fetch(
        'select coalesce(min(session_id), 1) as session_id from (select distinct session_id from '
        ~ dbt_cdc._state_relation('dm_cdc_errors')
        ~ ' where session_id > 0 order by session_id desc limit 32)')[0].session_id | int) %}
{% endmacro %}


{#- Removes `dead` rows, at most `threshold` of them in a DELETE: how many, or 'failed', or 'readable'. A
    DELETE ends where `cut_by` changes, and takes one transaction at least. What a kill leaves, the next
    cleanup finds. -#}
{% macro _remove_rows(relation, condition, dead, cut_by=none, threshold=none, readable=none, most=100000) %}
    {% set threshold = threshold or dbt_cdc._rows_of_a_delete() %}
    {% set removed = [] %}
    {#- Jinja has no while, and no longer range; what is left then is the next cleanup's -#}
    {% for batch in range([dead + 1, most] | min) %}
        {% set left = dead - removed | sum %}
        {% set first = {'condition': condition, 'rows': left} if left <= threshold or not cut_by
            else dbt_cdc._first_rows(relation, condition, cut_by, threshold) %}
        {% do return(removed | sum) if not first.rows %}
        {% set outcome = dbt_cdc._delete_rows(relation, first.condition, readable) %}
        {% do return(outcome) if outcome != 'done' %}
        {% do removed.append(first.rows) %}
        {% do dbt_cdc._log_line(
            'cleanup: ' ~ (relation | string).split('.')[-1] ~ ': ' ~ removed | sum ~ ' of ' ~ dead
            ~ ' rows removed') if first.rows < dead %}
    {% endfor %}
    {% do dbt_cdc._log_line(
        'cleanup: ' ~ (relation | string).split('.')[-1] ~ ': stopped after ' ~ most ~ ' DELETEs; the next cleanup '
        ~ 'removes the other ' ~ (dead - removed | sum) ~ ' rows; a larger threshold needs fewer'
    ) if removed | sum < dead %}
    {% do return(removed | sum) %}
{% endmacro %}


{#- What of the rows a DELETE takes, as SQL, and how many: those before the transaction with which they would be
    more than `threshold`, or the first one alone; all where another cleanup has left no more. -#}
{% macro _first_rows(relation, condition, cut_by, threshold) %}
    {% set found = dbt_cdc._fetch(
        'select min(position) as low, min(case when upto > ' ~ threshold ~ ' then position end) as high, '
        ~ 'coalesce(max(case when upto <= ' ~ threshold ~ ' then upto end), min(upto), 0) as `rows` '
        ~ 'from (select ' ~ cut_by ~ ' as position, sum(count(*)) over (order by ' ~ cut_by ~ ') as upto '
        ~ 'from ' ~ relation ~ ' where ' ~ condition ~ ' group by ' ~ cut_by ~ ')'
    )[0] %}
    {% if found.high is not none %}
        {% set end = dbt_cdc._literal(found.high) if found.high is string else found.high %}
        {% set condition = condition ~ ' and ' ~ cut_by ~ (' < ' if found.low != found.high else ' <= ') ~ end %}
    {% endif %}
    {% do return({'condition': condition, 'rows': found.rows | int}) %}
{% endmacro %}


{#- Removes rows in one DELETE (docs/decisions/0005): 'done' or 'failed'. Delta refuses it where a
    capture wrote at the same time; then it is tried again. `readable` is true of validity intervals in which
    they can still be read: then they stay, and this is 'readable'. -#}
{% macro _delete_rows(relation, condition, readable=none) %}
    {% set delete = 'delete from ' ~ relation ~ ' where ' ~ condition %}
    {% set attempt = dbt_cdc._delete_unless_readable(delete, readable) if readable
        else delete ~ ";\nselect 'done' as outcome" %}
    {% do return(dbt_cdc._fetch(dbt_cdc._on_failure(
        attempt, dbt_cdc._on_failure(attempt, "select 'failed' as outcome")))[0].outcome) %}
{% endmacro %}


{% macro _delete_unless_readable(delete, readable) -%}
if exists (select 1 from {{ dbt_cdc._validity_intervals() }} where {{ readable }}) then
    select 'readable' as outcome;
else
    {{ delete }};
    select 'done' as outcome;
end if
{%- endmacro %}


{#- What a cleanup would remove: of each table rows, whole files and their bytes; NULL where it is not there. -#}
{% macro _removable(instances) %}
    {% set lines = [] %}
    {% for instance in instances %}
        {% set below = "`__$start_lsn` < '" ~ instance.new_low_end ~ "'" %}
        {% set found = dbt_cdc._fetch(
            'select coalesce(sum(dead), 0) as `rows`, count_if(dead = total) as files, '
            ~ 'coalesce(sum(case when dead = total then size end), 0) as bytes from (select count(*) '
            ~ 'as total, count_if(' ~ below ~ ') as dead, max(_metadata.file_size) as size from '
            ~ instance.relation ~ ' group by _metadata.file_path) where dead > 0'
        )[0] if load_cached_relation(instance.relation) is not none else {} %}
        {% do lines.append(dict(
            capture_instance=instance.capture_instance, low_end=instance.low_end,
            new_low_end=instance.new_low_end, rows_to_remove=found.get('rows'), whole_files=found.get('files'),
            bytes_of_files=found.get('bytes')
        )) %}
    {% endfor %}
    {% do return(lines) %}
{% endmacro %}
