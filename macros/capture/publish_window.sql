{#- The body of lsn_time_mapping, the publication: one row for each transaction of the window that left a row in
    any change table. An INSERT or DELETE always does; whether an UPDATE has, or anything that an edited model may
    leave out, only the change table tells, and reading one costs more than all the rest. -#}
{% macro publication() -%}
    {%- if execute -%}
{{ dbt_cdc._mapping_rows(dbt_cdc.scan_window()) }}
    {%- else -%}
        {%- do dbt_cdc._log_relation() -%}
        {%- do dbt_cdc._declare_state() -%}
        {%- for name in dbt_cdc._listed_models() -%}
            {%- do dbt_cdc._ref_of_project(name) -%}
        {%- endfor -%}
select 1 as placeholder
    {%- endif -%}
{%- endmacro %}


{#- Publishes the window that all have captured: its transactions, then the new validity intervals. Each step
    can be repeated; readers see the window with the last one. -#}
{% materialization publication, default %}
    {% set relation = this.incorporate(type='table') %}
    {{ run_hooks(pre_hooks) }}
    {% do dbt_cdc._ensure_state_tables() %}
    {% set window = dbt_cdc.scan_window() %}
    {% if dbt_cdc._is_building() and window.to_lsn %}
        {% set missing = dbt_cdc._missing_captures(window) %}
        {% if missing %}
            {% do dbt_cdc._log_line(
                'not published: ' ~ missing | join(', ') ~ ' did not capture the window up to '
                ~ window.to_lsn
            ) %}
        {% else %}
            {% do dbt_cdc._publish_window(relation, window, compiled_code) %}
        {% endif %}
    {% endif %}
    {% if not load_result('main') %}
        {% call noop_statement('main', 'OK') -%}
            -- nothing to publish
        {%- endcall %}
    {% endif %}
    {% do persist_docs(relation, model) %}
    {{ run_hooks(post_hooks) }}
    {% do return({'relations': [relation]}) %}
{% endmaterialization %}


{% macro _publish_window(mapping, window, rows) %}
    {% do dbt_cdc._enter_phase(7) %}
    {% do dbt_cdc._announce_new_instances(window) %}
    {% do dbt_cdc._end_abandoned_instances(window) %}
    {% for instance in dbt_cdc._capture_instances().values() %}
        {% if dbt_cdc._instance_window(instance, window).is_backfill %}
            {% do run_query(dbt_cdc._backfill_mapping_sql(instance, window)) %}
        {% endif %}
    {% endfor %}
    {% do dbt_cdc._raise_truncated_low_ends() %}
    {% do dbt_cdc._publish_versions(window) %}
    {% set intervals = dbt_cdc._main_write_and_fetch(
        dbt_cdc._insert_once(
            mapping, rows,
            'not exists (select 1 from ' ~ mapping ~ " where start_lsn > '" ~ window.previous_lsn ~ "')"
        ),
        dbt_cdc._intervals_sql(window.state.high_end or dbt_cdc._zero_lsn())
    ) if dbt_cdc._capture_instances() else none %}
    {% do dbt_cdc._publish_validity_intervals(window.to_lsn, window.state, intervals) %}
    {% do dbt_cdc._grant_to_roles() %}
    {% do dbt_cdc._enter_phase(8) %}
    {% do dbt_cdc._invocation_cache().update(is_published=true) %}
    {% do dbt_cdc._log_line('published up to ' ~ window.to_lsn) %}
{% endmacro %}


{#- Without a window, none. -#}
{% macro _mapping_rows(window) -%}
    {%- set transactions = dbt_cdc._transactions_of(window) -%}
    {%- set asked = dbt_cdc._instances_of(window.updated_tables or []) -%}
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
        and commit_lsn is not null
        and (
            {{ dbt_cdc._indent(dbt_cdc._leaves_rows(), 12) }}
            {%- if asked %}
            or commit_lsn in (
                {%- for instance in asked %}
                select `__$start_lsn` from {{ dbt_cdc._indent(
                    dbt_cdc._change_rows_to_publish(instance, window), 16) }}
                where
                    `__$start_lsn` > '{{ window.previous_lsn }}'
                    and `__$start_lsn` <= '{{ window.to_lsn }}'
                {{- ' union all' if not loop.last }}
                {%- endfor %}
            )
            {%- endif %}
        )
)

select * from entered
    {%- if window.to_lsn and not window.ends_with_rows %}
union all
{{ dbt_cdc._heartbeat_sql(window, transactions) }}
    {%- endif %}
{%- endmacro %}


{#- The change table; before a run, the rows that it will have. -#}
{% macro _change_rows_to_publish(instance, window) -%}
    {%- if not window.transactions_relation -%}
    {{ instance.relation }}
    {%- else -%}
    (
        {{ dbt_cdc._indent(dbt_cdc._change_rows(
            instance, dbt_cdc._instance_window(instance, window), window.log,
            window.transactions_relation), 8) }}
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
                and committed.commit_time > latest.tran_end_time + interval 300 seconds
            )
        )
{%- endmacro %}


{#- Whether a transaction surely leaves rows: an INSERT or DELETE does, unless the model is edited. -#}
{% macro _leaves_rows() -%}
    arrays_overlap(changed_tables, {{ dbt_cdc._source_tables_sql(
        dbt_cdc._capture_instances().values() | rejectattr('is_edited') | list) }})
{%- endmacro %}


{#- The tables of which a transaction may leave rows. -#}
{% macro _tables_to_ask() -%}
    {{ 'array_union(changed_tables, updated_tables)'
        if dbt_cdc._capture_instances().values() | selectattr('is_edited') | list else 'updated_tables' }}
{%- endmacro %}


{% macro _captured_tables_sql() -%}
    {{ dbt_cdc._source_tables_sql(dbt_cdc._capture_instances().values()) }}
{%- endmacro %}


{% macro _instances_of(tables) %}
    {% set instances = [] %}
    {% for instance in dbt_cdc._capture_instances().values()
        if dbt_cdc._source_of(instance) in tables %}
        {% do instances.append(instance) %}
    {% endfor %}
    {% do return(instances) %}
{% endmacro %}


{#- What a backfilling instance adds below the window. -#}
{% macro _backfill_mapping_sql(instance, window) -%}
    {%- set mapping = dbt_cdc._state_relation('lsn_time_mapping') -%}
    insert into {{ mapping }}
    select commit_lsn, begin_time, commit_time, tran_id, begin_lsn
    from (
        {{ dbt_cdc._indent(dbt_cdc._window_transactions(
            window.log, dbt_cdc._zero_lsn(), window.previous_lsn), 8) }}
    ) as committed
    where
        commit_lsn in (select `__$start_lsn` from {{ instance.relation }})
        and commit_lsn not in (select start_lsn from {{ mapping }} where start_lsn is not null)
{%- endmacro %}
