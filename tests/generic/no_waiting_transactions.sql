{#- For waiting_transactions: those that had waited for missing events longer than `max_minutes`
    after the last run. The end of what has landed may cut off the last transaction: if its BEGIN
    has landed and nothing waits behind it, it is skipped. A snapshot without its last row is not,
    nor is a transaction of wal2json, which sends whole ones. -#}
{% test no_waiting_transactions(model, max_minutes=60) %}
{%- set waiting = dbt_cdc._table_of_adapters('waiting_transactions', model) %}
select
    tran_id,
    since,
    reason,
    waiting_commits
from {{ waiting }}
where
    since < current_timestamp() - interval '{{ max_minutes | int }}' minute
    and (
        commit_lsn is not null
        or waiting_commits > 0
        or reason like '%BEGIN and END have not'
        or reason like '%its C has not'
        or reason = 'the last row of the snapshot has not landed'
        or first_position < (select max(first_position) from {{ waiting }})
    )
{% endtest %}
