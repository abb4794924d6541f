{#- The rows of a publication: what lsn_time_mapping gets for a window. -#}

{#- Without a window, none. -#}
{% macro _mapping_rows(window) -%}
    {%- set transactions = dbt_cdc._transactions_of(window) -%}
    {%- set asked = dbt_cdc._instances_of(window.updated_tables or []) -%}
    {#- see _is_touched -#}
    {%- do asked.extend(dbt_cdc._new_instances(window) | reject('in', asked) | list)
        if window.to_lsn and window.previous_lsn != dbt_cdc._zero_lsn() -%}
    {%- set backfilling = dbt_cdc._backfilling(window) -%}
with entered as (
    select
        commit_lsn as start_lsn,
        begin_time as tran_begin_time,
        commit_time as tran_end_time,
        tran_id,
        begin_lsn as tran_begin_lsn
    from {{ transactions }}
    where
        window_to_lsn = '{{ window.to_lsn or dbt_cdc._zero_lsn() }}'
        and commit_lsn > '{{ window.previous_lsn }}'
        and (
            {{ dbt_cdc._indent(dbt_cdc._leaves_rows(), 12) }}
            {%- if asked %}
            or commit_lsn in (
                {{ dbt_cdc._indent(dbt_cdc._commits_with_rows(
                    asked, window, window.previous_lsn, window.to_lsn), 16) }}
            )
            {%- endif %}
        )
)

select * from entered
    {%- if backfilling %}
union all
select commit_lsn, begin_time, commit_time, tran_id, begin_lsn
from (
    {{ dbt_cdc._indent(dbt_cdc._window_transactions(
        window.log, dbt_cdc._zero_lsn(), window.previous_lsn), 4) }}
)
where
    commit_lsn in (
        {{ dbt_cdc._indent(dbt_cdc._commits_with_rows(
            backfilling, window, dbt_cdc._zero_lsn(), window.previous_lsn), 8) }}
    )
    {%- endif %}
    {%- if window.to_lsn and not window.ends_with_rows %}
union all
{{ dbt_cdc._heartbeat_sql(window, transactions) }}
    {%- endif %}
{%- endmacro %}


{#- The commits after an LSN and up to another one that left rows in the change tables. -#}
{% macro _commits_with_rows(instances, window, after_lsn, to_lsn) -%}
    {%- for instance in instances %}
    select `__$start_lsn` from {{ dbt_cdc._indent(dbt_cdc._change_rows_to_publish(instance, window), 4) }}
    where `__$start_lsn` > '{{ after_lsn }}' and `__$start_lsn` <= '{{ to_lsn }}'
    {{- ' union all' if not loop.last }}
    {%- endfor %}
{%- endmacro %}


{#- The instances that bring changes from before the window. -#}
{% macro _backfilling(window) %}
    {% set instances = [] %}
    {% for instance in dbt_cdc._capture_instances().values()
        if window.to_lsn and dbt_cdc._instance_window(instance, window).is_backfill %}
        {% do instances.append(instance) %}
    {% endfor %}
    {% do return(instances) %}
{% endmacro %}


{#- The change table; before a run, the rows that it will have. -#}
{% macro _change_rows_to_publish(instance, window) -%}
    {%- if not window.transactions_relation -%}
    {{ instance.relation }}
    {%- else -%}
    (
        {{ dbt_cdc._indent(dbt_cdc._change_rows(
            instance, dbt_cdc._instance_window(instance, window)), 8) }}
    )
    {%- endif -%}
{%- endmacro %}


{#- A heartbeat (tran_id 0x00) for the window's last commit where that one left no rows and nothing was
    entered for more than 300 seconds. -#}
{% macro _heartbeat_sql(window, transactions) -%}
    select
        committed.commit_lsn,
        committed.commit_time,
        committed.commit_time,
        '0x00',
        '{{ dbt_cdc._zero_lsn() }}'
    from {{ transactions }} as committed
    cross join (
        select max(start_lsn) as start_lsn, max(tran_end_time) as tran_end_time
        from (
            select start_lsn, tran_end_time from entered
            union all
            select start_lsn, tran_end_time from {{ dbt_cdc._state_relation('lsn_time_mapping') }}
            where start_lsn >= '{{ window.state.high_end or dbt_cdc._zero_lsn() }}'
        )
    ) as latest
    where
        committed.window_to_lsn = '{{ window.to_lsn }}'
        and committed.commit_lsn = '{{ window.to_lsn }}'
        and (
            latest.start_lsn is null
            or (
                committed.commit_lsn > latest.start_lsn
                and (
                    committed.commit_time > latest.tran_end_time + interval 300 seconds
                    or latest.tran_end_time > {{ dbt_cdc._end_of_today() }}
                )
            )
        )
{%- endmacro %}
