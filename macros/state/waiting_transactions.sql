{#- Transactions that an adapter holds back: events of theirs are missing, as where the log begins in the middle of
    one. Later commits wait with the first of them. -#}

{#- Part of the on-run-end hook: what waits is said, kept in waiting_transactions until the next
    run, and for good with the session. -#}
{% macro _report_waiting(results) %}
    {% set adapter_log = dbt_cdc._invocation_cache().get('adapter') %}
    {% set is_written = adapter_log and adapter_log.unique_id in dbt_cdc._succeeded(results)
        and load_cached_relation(adapter_log.log) is not none %}
    {% if is_written %}
        {% do dbt_cdc._record_balances(adapter_log) if adapter_log.has_news and adapter_log.log.type != 'view' %}
        {% set found = adapter_log.waiting if 'waiting' in adapter_log
            else dbt_cdc._debezium_waiting(adapter_log) %}
        {% do dbt_cdc._ensure_state_tables() if found %}
        {% set waiting = dbt_cdc._state_relation('waiting_transactions') %}
        {% if found %}
            {#- to find it again would read the landed events again -#}
            {% do run_query(dbt_cdc._in_turn(
                'insert overwrite ' ~ waiting ~ ' ' ~ dbt_cdc._state_rows('waiting_transactions', found))) %}
        {% elif dbt_cdc._has_state('waiting_transactions')
            and dbt_cdc._fetch('select 1 from ' ~ waiting ~ ' limit 1') %}
            {% do dbt_cdc._delete_state('waiting_transactions') %}
        {% endif %}
        {% set without_end = [] %}
        {% for row in found if not (row.commit_lsn or row.tran_id.startswith('snapshot')
            or row.reason == dbt_cdc._no_later_one() or ' of ' in row.reason) %}
            {% do without_end.append(row) %}
        {% endfor %}
        {% if without_end | length > 1
            or 'BEGIN and END have not' in without_end | map(attribute='reason') | join %}
            {% do dbt_cdc._log_line(
                'transactions without END: ' ~ without_end | length ~ '. A connector sends one transaction after the '
                ~ 'other: does its topic of transactions (<topic.prefix>.transaction, with '
                ~ 'provide.transaction.metadata=true) land with the others?') %}
        {% endif %}
        {% for row in found[:1] if row.reason != dbt_cdc._no_later_one() %}
            {% do dbt_cdc._log_line(
                dbt_cdc._waiting_text(row) ~ '. Where the rest never comes, the next run gives it up with '
                ~ dbt_cdc._give_up([row.tran_id]) ~ ': none of its changes is captured') %}
            {% do dbt_cdc._invocation_cache().update(waiting_for=dbt_cdc._waiting_text(row)) %}
        {% endfor %}
    {% endif %}
{% endmacro %}


{#- What the last command that wrote the log has found to wait, as text, where that was not this one. -#}
{% macro _known_to_wait() %}
    {% if not dbt_cdc._invocation_cache().get('adapter') and dbt_cdc._has_state('waiting_transactions') %}
        {% for row in dbt_cdc._fetch('select * except (since), string(since) as since from '
            ~ dbt_cdc._state_relation('waiting_transactions')
            ~ ' order by waiting_commits desc, first_position limit 1') if row.reason != dbt_cdc._no_later_one() %}
            {% do return(dbt_cdc._waiting_text(row)) %}
        {% endfor %}
    {% endif %}
    {% do return(none) %}
{% endmacro %}


{#- Where the log has taken in all that has landed, nothing waits. -#}
{% macro _debezium_waiting(adapter_log) %}
    {% set batch = dbt_cdc._debezium_batch(
        adapter_log.events, adapter_log.log, adapter_log.is_incremental, adapter_log.connector) %}
    {% do return(dbt_cdc._fetch(dbt_cdc._waiting_sql(adapter_log, batch))
        if batch.position is none or batch.position < batch.last_position else []) %}
{% endmacro %}


{% macro _waiting_text(row) %}
    {% do return(
        ('the ' if row.tran_id.startswith('snapshot') else 'transaction ') ~ row.tran_id
        ~ ' waits' ~ (' since ' ~ row.since if row.since) ~ ': ' ~ row.reason
        ~ (', and with it ' ~ row.waiting_commits ~ ' later ones' if row.waiting_commits)
    ) %}
{% endmacro %}


{#- As the model waiting_transactions describes them, the one that the others wait for first. -#}
{% macro _waiting_sql(adapter_log, batch) -%}
{%- if batch.is_sqlserver -%}
{{ dbt_cdc._debezium_sqlserver_waiting(adapter_log, batch) }}
{%- else -%}
with {{ dbt_cdc._debezium_events(adapter_log.events, batch, adapter_log.before_images) }},

{{ dbt_cdc._debezium_owners(batch) }},

{{ dbt_cdc._debezium_transactions(batch) }}

select
    concat_ws(':', xid, if(xid = 'snapshot' and not is_later, null, commit_number)) as tran_id,
    case
        when xid <> 'snapshot' and commit_number is not null
            then {{ dbt_cdc._debezium_lsn_sql('commit_number') }}
    end as commit_lsn,
    landed_events,
    event_count,
    cast(coalesce(begin_time, change_time, end_time) as string) as since,
    first_position,
    case
        when is_later and has_last_row then 'no transaction behind the snapshot has landed'
        when xid = 'snapshot' and has_last_row
            then 'a transaction of which events landed before the snapshot has not landed whole'
        when xid = 'snapshot' then 'the last row of the snapshot has not landed'
        {%- if batch.has_untold %}
        when commit_number is null and begin_time is null then '{{ dbt_cdc._no_later_one() }}'
        {%- endif %}
        when commit_number is null and event_count is not null
            then concat(landed_events, ' of ', event_count, ' events have landed')
        when commit_number is null
            then concat(
                landed_events, if(landed_events = 1, ' event has', ' events have'), ' landed, its ',
                if(begin_time is null, 'BEGIN and END have not', 'END has not')
            )
        {%- if not batch.is_binlog %}
        when is_complete and begins_twice and not has_open_before
            then 'its BEGIN has landed twice, so its END may not count all of its events, and no whole transaction '
                || 'behind it has landed'
        {%- endif %}
        when is_complete then 'all its events have landed, those of an earlier one have not'
        else concat(landed_events, ' of ', event_count, ' events have landed')
    end as reason,
    count_if(commit_number is not null) over () - count_if(commit_number is not null) over (
        order by place, first_position
        rows between unbounded preceding and current row
    ) as waiting_commits
from decided
where fate = 'new' and not is_emitted
order by place, first_position
limit 1000
{%- endif -%}
{%- endmacro %}
