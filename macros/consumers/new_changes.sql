{#- The changes of a capture instance that this model has not consumed yet, to be used after `from` in an
    incremental, replica or history model. `mode`: 'all', 'all update old', 'net', 'net with mask' or 'net
    with merge'; by itself net in a replica, otherwise all. `initial`: a relation with the table's rows as
    of `initial_lsn`, to start from where the changes do not go back far enough. -#}
{% macro new_changes(
    capture_instance, mode=none, initial=none, initial_lsn=none, with_commit_time=none
) -%}
    {%- do return(dbt_cdc._given_changes(capture_instance)) if execute and dbt_cdc._is_unit_test() -%}
    {%- if not execute -%}
        {%- do dbt_cdc._depend_on_instances([capture_instance]) -%}
        {%- do dbt_cdc._state_relation('consumer_bookmarks') -%}
        {%- if model.resource_type == 'model' -%}
            {{- config(pre_hook='{{ dbt_cdc._open_bookmarks() }}') -}}
        {%- endif -%}
    {%- else -%}
        {%- do dbt_cdc._check_hooks() -%}
        {%- set window = dbt_cdc._consumer_window(capture_instance, mode, initial, initial_lsn) -%}
        {%- set of_history = window.kind == 'all' and config.get('materialized') == 'history' -%}
        {%- do window.update(
            more=['__$command_id'] if of_history else [],
            with_commit_time=of_history if with_commit_time is none
                else dbt_cdc._as_boolean('new_changes: with_commit_time', with_commit_time)
        ) -%}
        {%- set text = dbt_cdc._indent(dbt_cdc._new_changes_sql(window), 4) -%}
        {%- do dbt_cdc._consumer().texts.append(text) %}
    (
        {{ text }}
    )
    {%- endif -%}
{%- endmacro %}


{#- The table's initial rows count as inserts at `initial_lsn`, before the changes. `--empty` takes neither. -#}
{% macro _new_changes_sql(window) -%}
    {%- set changes = dbt_cdc._changes_in(window) if window.has_news
        else dbt_cdc._no_rows(dbt_cdc._new_changes_columns(window)) -%}
    {{ dbt_cdc._with_initial_rows(changes, window, dbt_cdc._new_changes_columns(window))
        if window.initial and not flags.EMPTY else changes }}
{%- endmacro %}


{% macro _changes_in(window) -%}
    {%- set asked = dbt_cdc._query_window(
        'get_' ~ window.kind ~ '_changes', window.instance.name, window.from_lsn, window.to_lsn,
        window.option) -%}
    {%- do asked.update(
        skips_unchanged=window.skips_unchanged, keeps_gone=window.keeps_gone,
        is_settled=config.get('materialized') == 'history') -%}
    {{ dbt_cdc._unpadded(dbt_cdc._with_commit_time(
        dbt_cdc._net_changes_sql(asked) if window.kind == 'net'
        else dbt_cdc._all_changes_sql(asked, window.more),
        asked, window.with_commit_time), window) }}
{%- endmacro %}


{#- Spark pads values of char(n) columns where it reads them, unless the session says otherwise: a replica or history
    has them as change tables keep them, without. A MERGE whose source hands on such a column as it is read fails in
    Delta (delta-io/delta#3868). -#}
{% macro _unpadded(changes, window) -%}
    {%- set names = dbt_cdc._new_changes_columns(window).keys() -%}
    {%- set values = [] -%}
    {%- for name in names -%}
        {%- set column, is_char = dbt_cdc._column(name), dbt_cdc._is_char(dbt_cdc._declared_type(name, window)) -%}
        {%- do values.append('rtrim(' ~ column ~ ') as ' ~ column if is_char else column) -%}
    {%- endfor -%}
    {%- if config.get('materialized') in ['replica', 'history'] and values != dbt_cdc._quoted(names) -%}
    select
        {{ values | join(',\n        ') }}
    from (
        {{ dbt_cdc._indent(changes, 4) }}
    )
    {%- else -%}
    {{ changes }}
    {%- endif -%}
{%- endmacro %}


{#- Name -> type of these changes. -#}
{% macro _new_changes_columns(window) %}
    {% set metadata = ['__$start_lsn', '__$seqval', '__$operation', '__$update_mask'] + window.more %}
    {% set columns = dbt_cdc._typed_columns(
        window.instance.columns,
        metadata if window.kind == 'all' else metadata | reject('equalto', '__$seqval')) %}
    {% do columns.update({'__$commit_time': 'timestamp'}) if window.with_commit_time %}
    {% do return(columns) %}
{% endmacro %}
