{#- The canonical log out of what AWS DMS and Qlik Replicate write, which are one engine: the body of an incremental
    (append) model. `_log.yml` tells the arguments. -#}
{% macro dms_log(events, keys=none, settle_minutes=10, headers=none) -%}
    {%- do dbt_cdc._dms_check(events, keys, settle_minutes, headers) -%}
    {%- set is_incremental = execute and is_incremental() -%}
    {%- set is_stream = events.identifier is defined -%}
    {%- set batch = {
        'tables': {} if is_stream else events, 'messages': events if is_stream else none, 'keys': keys or {},
        'headers': headers or {}, 'settle_minutes': settle_minutes, 'log': this,
        'last_lsn': dbt_cdc._told_log_end(this, 'dms_log') if is_incremental else dbt_cdc._zero_lsn(),
    } -%}
    {%- do dbt_cdc._dms_look(batch) if dbt_cdc._is_building() -%}
with {{ dbt_cdc._dms_rows(batch) }},

{{ dbt_cdc._dms_changes(batch) }},

{{ dbt_cdc._dms_committed(batch) }},

{{ dbt_cdc._told_records() }}

select * from records
{{- dbt_cdc._appended_once("lsn > '" ~ batch.last_lsn ~ "' and operation = 'COMMIT'") if is_incremental }}
{%- endmacro %}


{% macro _dms_check(events, keys, settle_minutes, headers) %}
    {% set is_stream = events.identifier is defined %}
    {#- a view would show changes that come late at a commit that was captured, and no scan would see them -#}
    {% do dbt_cdc._raise_not_incremental('dms_log') if execute and config.get('materialized') != 'incremental' %}
    {% if not is_stream %}
        {% do dbt_cdc._check_gives_relations(
            'dms_log', 'events', events,
            "give each source table the table that its rows land in: {'dbo.orders': source('dms', 'orders')}; or the "
            ~ "table that the messages of a stream land in: source('dms', 'landed_messages')"
        ) %}
    {% elif execute and not (dbt_cdc._exported_has(events, 'position') and dbt_cdc._exported_has(events, 'value')) %}
        {% do dbt_cdc.raise_cdc_error(
            22963, 'dms_log: ' ~ events ~ ' has no columns position and value',
            'land a stream as landed_files and landed_table do, a message in each row; of tables give a dictionary: '
            ~ "{'dbo.orders': source('dms', 'orders')}"
        ) %}
    {% endif %}
    {% do dbt_cdc._check_names_tables('dms_log', 'keys', keys) %}
    {% for table, columns in (keys or {}).items() if columns is string or columns is mapping or not columns
        or not is_stream and table not in events %}
        {% do dbt_cdc.raise_cdc_error(
            22963, 'dms_log: keys gives ' ~ table ~ " '" ~ columns ~ "'",
            "give tables of events a list of columns: {'dbo.orders': ['order_id']}"
        ) %}
    {% endfor %}
    {% do dbt_cdc.raise_cdc_error(
        22963, "dms_log: settle_minutes is '" ~ settle_minutes ~ "'",
        'give the minutes after which the rows of all tables have landed, 0 or more'
    ) if settle_minutes is not number or settle_minutes is boolean or settle_minutes < 0 %}
    {% set named = ['change_seq'] if is_stream else ['change_seq', 'operation', 'transaction_id'] %}
    {% do dbt_cdc.raise_cdc_error(
        22963, "dms_log: headers is '" ~ headers ~ "'",
        "give the names of columns: {'change_seq': 'seq'" ~ ('}' if is_stream
        else ", 'operation': 'op', 'transaction_id': 'tx'}")
    ) if headers is not none and (headers is not mapping or headers | reject('in', named) | list) %}
{% endmacro %}


{#- Late rows stop the log, and so do others than it has; what waits is said. -#}
{% macro _dms_look(batch) %}
    {% do dbt_cdc._check_session_time_zone() %}
    {% for row in dbt_cdc._fetch(dbt_cdc._dms_rows_apart(batch)) %}
        {% set what = row.changes ~ ' rows of ' ~ row.tables %}
        {% if row.fate in ['late', 'cut'] %}
            {% set is_late = row.fate == 'late' and not (
                dbt_cdc._dms_has_ids(batch) and dbt_cdc._fetch(dbt_cdc._dms_late_of_logged(batch))) %}
            {% do dbt_cdc.raise_cdc_error(
                22859, 'dms_log: ' ~ what ~ ' landed when the log had ' ~ ('read beyond them' if is_late
                else 'a part of their transaction') ~ ', at change_seq ' ~ row.places
                ~ (' and more' if row.changes > 20 else ''),
                'give settle_minutes that all tables keep; ' ~ (dbt_cdc._anew_advice(batch.log)
                if is_late else 'with them it is another transaction: where nothing of it is captured '
                ~ 'yet, write the log anew (dbt run --full-refresh --select ' ~ dbt_cdc._selected(batch.log) ~ '), '
                ~ 'else begin a log of its own in another schema')
                ~ '; to go on without them, remove them from where they landed' ~ (
                ': ' ~ dbt_cdc._dms_take_out_advice(batch) if batch.messages is not none)
                ~ ', or give '
                ~ dbt_cdc._give_up(['...']) ~ ' and their change_seqs'
            ) %}
        {% elif row.fate == 'other' %}
            {% do dbt_cdc.raise_cdc_error(
                22859, 'dms_log: ' ~ what ~ ' landed again, unlike what the log has of them, at change_seq '
                ~ row.places ~ (' and more' if row.changes > 20 else ''),
                'land them as they were sent: a NULL that is read as the empty text is another value; where you have '
                ~ 'corrected the log, correct the rows alike; where a column has another type by now, or is gone, '
                ~ 'remove the rows that the log has from where they landed' ~ (
                ' (' ~ dbt_cdc._dms_take_out_advice(batch) ~ ')' if batch.messages is not none)
                ~ '; to go on with what the log has, give '
                ~ dbt_cdc._give_up(['...']) ~ ' and their change_seqs'
            ) %}
        {% elif row.fate == 'full load' %}
            {% do dbt_cdc.raise_cdc_error(
                22859, 'dms_log: the full load of ' ~ row.tables ~ ' has ' ~ row.changes ~ ' rows, and is not the one '
                ~ 'that the log took in before its first changes, of ' ~ row.taken,
                'a full load is the beginning of a log: give what was loaded again a log and a schema of their own; '
                ~ 'where nothing is captured yet, write the log anew (dbt run --full-refresh --select '
                ~ dbt_cdc._selected(batch.log) ~ '); rows without a change_seq that the log has may be removed'
            ) %}
        {% else %}
            {% do dbt_cdc._log_line(what ~ ' wait: they are younger than settle_minutes, ' ~ batch.settle_minutes) %}
        {% endif %}
    {% endfor %}
{% endmacro %}
