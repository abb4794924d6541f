{#- The balance of a batch: each event that has landed is in the log, a copy, waiting, or passed over by its kind. The
    log's COMMITs tell it, as the statement that wrote them has counted; what has landed, and what the log has, is
    counted again. Copies are counted by the numbers of events; of a batch with a snapshot, a transaction in which the
    connector restarted, or of SQL Server, they are what is left. -#}

{#- Part of the on-run-end hook: a row in event_balances for the batch that this command has put into the log. -#}
{% macro _record_balance(adapter_log) %}
    {% set found = dbt_cdc._fetch(dbt_cdc._balance_sql(adapter_log))[0] %}
    {% if found.balance %}
        {% set balance = dbt_cdc._balance(found) %}
        {% do dbt_cdc._ensure_state_tables() %}
        {% do dbt_cdc._insert_state(
            'event_balances', [dict(balance, recorded_at='now', invocation_id=invocation_id)]) %}
        {% do dbt_cdc._log_line(dbt_cdc._balance_text(balance))
            if balance.landed != balance.in_log + balance.tombstones %}
    {% endif %}
{% endmacro %}


{% macro _balance_sql(adapter_log) -%}
with batch as (
    select
        coalesce(sum(events), 0) + count_if(
            operation = 'INSERT' and lsn < '{{ dbt_cdc._debezium_snapshot_lsn() }}'
        ) as logged_events,
        max_by(balance, lsn) as balance
    from {{ adapter_log.log }}
    where lsn > '{{ adapter_log.previous_lsn }}'
)

select
    logged_events,
    balance,
    (
        select count(*)
        from {{ adapter_log.events }}
        where
            position > {{ adapter_log.position if adapter_log.position is not none else -2 ** 63 }}
            and position <= (select cast(get_json_object(balance, '$.last_position') as bigint) from batch)
    ) as landed
from batch
{%- endmacro %}


{#- The columns of event_balances from first_position on. -#}
{% macro _balance(found) %}
    {% set counted = fromjson(found.balance) %}
    {% set in_log = found.logged_events + counted.begins %}
    {% set copies = counted.get('copies') %}
    {% do return({
        'first_position': counted.first_position,
        'last_position': counted.last_position,
        'landed': found.landed,
        'in_log': in_log,
        'copies': (counted.taken - in_log if copies is none else copies) + (counted.get('copies_in_log') or 0),
        'waiting': counted.get('waiting') or 0,
        'given_up': counted.get('given_up') or 0,
        'later_snapshots': counted.get('later_snapshots') or 0,
        'heartbeats': counted.heartbeats,
        'tombstones': counted.tombstones,
        'messages': counted.messages,
    }) %}
{% endmacro %}


{#- One line: what is not in the log, and why. -#}
{% macro _balance_text(balance) %}
    {% set parts = [] %}
    {% for name, what in {
        'copies': 'copies', 'waiting': 'waiting', 'given_up': 'given up', 'later_snapshots': 'rows of later snapshots',
        'heartbeats': 'heartbeats', 'tombstones': 'tombstones', 'messages': 'messages',
    }.items() if balance[name] %}
        {% do parts.append(balance[name] ~ ' ' ~ what) %}
    {% endfor %}
    {% do return(
        balance.landed ~ ' events have landed: ' ~ balance.in_log ~ ' in the log, ' ~ parts | join(', ')
    ) %}
{% endmacro %}
