{#- The balance of a batch: each event that has landed is in the log, a copy, waiting, or passed over by its kind. The
    log's COMMITs tell it, as the statement that wrote them has counted; what has landed, and what the log has, is
    counted again. Copies are counted by the numbers of events; of a batch with a snapshot, a transaction in which the
    connector restarted, or of SQL Server, they are what is left. -#}

{#- Part of the on-run-end hook: a row in event_balances for the batch that this command has put into the log, and
    for those of runs that died before they wrote theirs. -#}
{% macro _record_balances(adapter_log) %}
    {% set found = dbt_cdc._fetch(dbt_cdc._balance_sql(
        adapter_log, adapter_log.previous_lsn, adapter_log.position, dbt_cdc._has_lost_batch(adapter_log)))[0] %}
    {% for lost in (dbt_cdc._fetch(dbt_cdc._lost_batches_sql(adapter_log)) if found.has_lost else []) %}
        {% do dbt_cdc._record_balance(dbt_cdc._fetch(dbt_cdc._balance_sql(
            adapter_log, lost.after_lsn or dbt_cdc._zero_lsn(), lost.position))[0]) %}
    {% endfor %}
    {% do dbt_cdc._record_balance(found) if found.balance %}
{% endmacro %}


{#- Once for each batch: the run that has put it into the log, another one at the same time, and a later one that finds
    it without a balance may all tell it. -#}
{% macro _record_balance(found) %}
    {% set balance = dbt_cdc._balance(found) %}
    {% do dbt_cdc._ensure_state_tables() %}
    {% do dbt_cdc._insert_state(
        'event_balances', [dict(balance, recorded_at='now', invocation_id=invocation_id)],
        'first_position = appended.first_position and last_position = appended.last_position'
        ~ ' and landed = appended.landed and in_log = appended.in_log') %}
    {% do dbt_cdc._log_line(dbt_cdc._balance_text(balance))
        if balance.landed != balance.in_log + balance.tombstones %}
{% endmacro %}


{#- Of the first batch that the log has after an LSN, and that began behind a position (none: with the first event);
    another run may have put the next one into the log by now. -#}
{% macro _balance_sql(adapter_log, after_lsn, position, beside=none) -%}
with first_batch as (
    select
        balance as told,
        max(lsn) as last_lsn
    from {{ adapter_log.log }}
    where lsn > '{{ after_lsn }}' and balance is not null
    group by balance
    order by last_lsn
    limit 1
),

batch as (
    select
        coalesce(sum(events), 0) + count_if(
            operation = 'INSERT' and lsn < '{{ dbt_cdc._debezium_snapshot_lsn() }}'
        ) as logged_events,
        max(told) as balance
    from {{ adapter_log.log }} cross join first_batch
    where lsn > '{{ after_lsn }}' and lsn <= last_lsn
)

select
    logged_events,
    balance,
    {{- '\n    ' ~ dbt_cdc._indent(beside, 4) ~ ' as has_lost,' if beside }}
    (
        select count(*)
        from {{ adapter_log.events }}
        where
            position > {{ position if position is not none else -2 ** 63 }}
            and position <= (select {{ dbt_cdc._last_position() }} from batch)
    ) as landed
from batch
{%- endmacro %}


{% macro _last_position() -%}
cast(get_json_object(balance, '$.last_position') as bigint)
{%- endmacro %}


{#- The position up to which balances are recorded. -#}
{% macro _recorded_position() -%}
{{ '(select max(last_position) from ' ~ dbt_cdc._state_relation('event_balances') ~ ')'
    if dbt_cdc._has_state('event_balances') else 'cast(null as bigint)' }}
{%- endmacro %}


{#- Whether the log's last batch before this command's is not recorded. -#}
{% macro _has_lost_batch(adapter_log) -%}
(
    select max({{ dbt_cdc._last_position() }}) > coalesce({{ dbt_cdc._recorded_position() }}, {{ -2 ** 63 }})
    from {{ adapter_log.log }}
    where lsn = '{{ adapter_log.previous_lsn }}'
)
{%- endmacro %}


{#- Those that are not recorded, and whose events are still there; the last one where none is. -#}
{% macro _lost_batches_sql(adapter_log) -%}
select
    after_lsn,
    last_lsn,
    first_position - 1 as position
from (
    select
        *,
        coalesce({{ dbt_cdc._recorded_position() }}, max(last_position) over () - 1) as recorded_position
    from (
        select
            max(lsn) as last_lsn,
            lag(max(lsn)) over (order by max(lsn)) as after_lsn,
            cast(get_json_object(balance, '$.first_position') as bigint) as first_position,
            {{ dbt_cdc._last_position() }} as last_position
        from {{ adapter_log.log }}
        where operation = 'COMMIT' and balance is not null and lsn <= '{{ adapter_log.previous_lsn }}'
        group by balance
    )
)
where last_position > recorded_position
    and first_position >= (select min(position) from {{ adapter_log.events }})
order by last_lsn
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
