{#- The change rows of one instance in one window: the definition of a change table. Each record leaves as
    none, one or two rows. -#}
{% macro _rows_of_typed(instance, with_untold=false, checked_after=none) -%}
{%- set columns = instance.columns -%}
{%- set checked = dbt_cdc._checked(instance, 'row_operation < 3 or ' ~ dbt_cdc._is_changed(columns)) -%}
select
    commit_lsn as `__$start_lsn`,
    cast(null as string) as `__$end_lsn`,
    lsn as `__$seqval`,
    row_operation as `__$operation`,
    {{ dbt_cdc._mask_text(columns) }} as `__$update_mask`,
    {{ dbt_cdc._captured_values(instance) }},
    command_id as `__$command_id`
    {%- if with_untold %},
    if(row_operation = 2, {{ dbt_cdc._untold_names(columns, '') }}, null) as `__$untold`,
    row_operation = 2 and operation = 'UPDATE' as `__$is_moved`
    {%- endif %}
from typed
where {{ checked if checked_after is none else "if(is_misfit and commit_lsn <= '" ~ checked_after ~ "', false, "
    ~ checked ~ ')' }}
{%- endmacro %}


{#- The captured columns. By SQL Server's rule a large value is NULL in the row before an update that leaves it as
    it is; large are columns of unbounded length that are no part of the key. -#}
{% macro _captured_values(instance) -%}
    {%- if instance.lob_before_image == 'always' -%}
    value.*
    {%- else -%}
        {%- for column in instance.columns -%}
            {%- set name, bit = dbt_cdc._column(column.name), 2 ** (loop.index0 % 56) -%}
            {%- if dbt_cdc._type_family(column.data_type) in ['string', 'binary']
                and column.name not in instance.index_columns -%}
    if(row_operation = 3 and mask_{{ loop.index0 // 56 + 1 }} & {{ bit }} = 0, null, value.{{ name }}) as {{ name }}
            {%- else -%}
    value.{{ name }}
            {%- endif -%}
            {{- ',\n    ' if not loop.last -}}
        {%- endfor -%}
    {%- endif -%}
{%- endmacro %}


{#- The steps up to `typed`: the rows of each record, with what does not fit. -#}
{% macro _checked_changes(instance, window) -%}
with {{ dbt_cdc._window_records(instance, window) }},

{{ dbt_cdc._image_steps(instance) }}
{%- endmacro %}


{#- CTE `parsed`: the instance's records that the window commits, in the transactions that were written down
    when it was opened, or for a backfill, of the whole log up to its end. The log is read from the window's
    first record on. No join hint: a small window is broadcast, a large one is joined by sorting, and nothing
    grows on the driver. `values`: what is made of them in place of the images. -#}
{% macro _window_records(instance, window, values=none) -%}
parsed as (
    select
        committed.commit_lsn,
        log.lsn,
        log.operation,
        log.command_id,
        {{- '\n        log.encodings,' if instance.has_encodings }}
        {{ dbt_cdc._indent(values or dbt_cdc._read_images(instance), 8) }}
    from {{ window.log }} as log
    inner join {% if window.get('is_backfill') -%}
        (
            {{ dbt_cdc._indent(
                dbt_cdc._window_transactions(window.log, dbt_cdc._zero_lsn(), window.to_lsn), 12) }}
        )
    {%- else %}{{ dbt_cdc._transactions_of(window) }}{% endif %} as committed
        on log.tran_id = committed.tran_id
        and log.lsn between committed.begin_lsn and committed.commit_lsn
    where {{ dbt_cdc._indent(dbt_cdc._is_committed_in(window), 8) }}
        and {{ dbt_cdc._indent(dbt_cdc._is_record_of(instance, window), 8) }}
        {%- if window.get('emptied_lsn') %}
        and (committed.commit_lsn <> '{{ window.emptied_lsn }}' or log.lsn > '{{ window.emptied_place }}')
        {%- endif %}
)
{%- endmacro %}


{#- Whether a log record holds a change of the source table and may commit in the window. -#}
{% macro _is_record_of(source, window) -%}
log.source_schema = {{ dbt_cdc._literal(source.source_schema) }} and log.source_name = {{ dbt_cdc._literal(source.source_name) }}
and log.operation in ('INSERT', 'UPDATE', 'DELETE')
and log.lsn between '{{ window.floor_lsn or dbt_cdc._zero_lsn() }}' and '{{ window.to_lsn or dbt_cdc._zero_lsn() }}'
{%- endmacro %}


{#- Whether a transaction, of `scan_transactions` but in a backfill, commits in the window, up to its `end_lsn` where
    it has one. -#}
{% macro _is_committed_in(window) -%}
{%- if not window.get('is_backfill') -%}
committed.window_to_lsn = '{{ window.to_lsn or dbt_cdc._zero_lsn() }}'
and {# -#}
{%- endif -%}
committed.commit_lsn > '{{ window.previous_lsn }}'
{%- if window.get('end_lsn') %}
and committed.commit_lsn < '{{ window.end_lsn }}'
{%- endif %}
{%- endmacro %}


{#- The columns that the images of a record leave out. -#}
{% macro _untold_names(columns, log='log.') -%}
    array_except(array_except(array({{ dbt_cdc._name_literals(
        dbt_cdc._logged_columns(columns)) | join(', ') }}), json_object_keys({{ log }}after_image)), {# -#}
    coalesce(json_object_keys({{ log }}before_image), array()))
{%- endmacro %}
