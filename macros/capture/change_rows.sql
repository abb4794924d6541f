{#- The change rows of one instance in one window. The log is read from the window's first record
    on, both images of a record are parsed together and once, and each record leaves as none, one
    or two rows. -#}
{% macro _change_rows(instance, window, log, scan_transactions) -%}
{%- set columns = instance.columns -%}
with transactions as (
    {{ dbt_cdc._indent(dbt_cdc._committed_transactions(window, log, scan_transactions), 4) }}
),

records as (
    select
        transactions.commit_lsn,
        log.lsn,
        log.operation,
        log.command_id,
        log.before_image,
        log.after_image
    from {{ log }} as log
    inner join transactions
        on
            log.tran_id = transactions.tran_id
            and log.lsn between transactions.begin_lsn and transactions.commit_lsn
    where
        log.source_schema = {{ dbt_cdc._literal(instance.source_schema) }}
        and log.source_name = {{ dbt_cdc._literal(instance.source_name) }}
        and log.operation in ('INSERT', 'UPDATE', 'DELETE')
        and log.lsn >= '{{ window.floor_lsn or dbt_cdc._zero_lsn() }}'
        and log.lsn <= '{{ window.to_lsn or dbt_cdc._zero_lsn() }}'
),

parsed as (
    select
        *,
        {{ dbt_cdc._indent(dbt_cdc._parse_images(columns), 8) }} as json
    from records
),

texts as (
    select
        commit_lsn,
        lsn,
        operation,
        command_id,
        before_image,
        after_image,
        json.images[0] as before_text,
        json.images[1] as after_text,
        {{ dbt_cdc._indent(dbt_cdc._image_problem(instance), 8) }} as image_problem
    from parsed
),

typed as (
    select
        *,
        {{ dbt_cdc._indent(dbt_cdc._read_image('before_text', columns), 8) }} as before,
        {{ dbt_cdc._indent(dbt_cdc._read_image('after_text', columns), 8) }} as after,
        {{ dbt_cdc._indent(dbt_cdc._keys_where_needed(columns), 8) }} as image_keys
    from texts
),

complete as (
    select
        commit_lsn,
        lsn,
        command_id,
        {{ dbt_cdc._indent(dbt_cdc._checked_operation(instance), 8) }} as operation,
        {{ dbt_cdc._indent(dbt_cdc._complete_before(instance), 8) }} as before,
        {{ dbt_cdc._indent(dbt_cdc._complete_after(columns), 8) }} as after,
        {{ dbt_cdc._indent(dbt_cdc._unknown_columns(instance), 8) }} as unknown_columns
    from typed
),

compared as (
    select
        commit_lsn,
        lsn,
        command_id,
        operation,
        before,
        after,
        {{ dbt_cdc._indent(dbt_cdc._is_key_change(instance), 8) }} as is_key_change,
        {{ dbt_cdc._indent(dbt_cdc._update_mask(instance), 8) }} as update_mask
    from complete
),

changes as (
    select
        commit_lsn,
        lsn,
        command_id,
        {{ dbt_cdc._indent(dbt_cdc._rows_of_record(columns), 8) }}
    from compared
)

select
    commit_lsn as `__$start_lsn`,
    cast(null as string) as `__$end_lsn`,
    lsn as `__$seqval`,
    operation as `__$operation`,
    update_mask as `__$update_mask`,
    {%- for column in columns %}
    image.{{ dbt_cdc._column(column.name) }},
    {%- endfor %}
    command_id as `__$command_id`
from changes
{%- endmacro %}


{#- The committed transactions of the window: those written down when it was opened, or for a
    backfill, of the whole log up to its end. -#}
{% macro _committed_transactions(window, log, scan_transactions) -%}
    {%- if window.get('is_backfill') -%}
select tran_id, begin_lsn, commit_lsn
from (
    {{ dbt_cdc._indent(
        dbt_cdc._window_transactions(log, dbt_cdc._zero_lsn(), window.to_lsn), 4) }}
)
where commit_lsn is not null
    {%- else -%}
select tran_id, begin_lsn, commit_lsn
from {{ scan_transactions }}
where
    window_to_lsn = '{{ window.to_lsn or dbt_cdc._zero_lsn() }}'
    and commit_lsn > '{{ window.previous_lsn }}'
    {%- endif -%}
{%- endmacro %}
