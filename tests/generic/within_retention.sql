{#- A change table that keeps rows for longer than the cleanup job's retention and
    `grace_minutes`: how many, and since when. Rows held for a consumer do not count, nor those of
    an instance that is younger than `grace_minutes`: no cleanup may have been since. Without a
    cleanup job nothing is too old. -#}
{% test within_retention(model, grace_minutes=2880) %}
{%- set instance = dbt_cdc._tested_instance(model) %}
{%- set mark = dbt_cdc._oldest_lsn_to_keep(instance, grace_minutes) %}
select
    count(*) as old_rows,
    min(`__$start_lsn`) as first_lsn,
    '{{ mark or '' }}' as oldest_lsn_to_keep
from {{ model }}
where
    `__$start_lsn` < '{{ mark or '' }}'
    and not exists (
        select 1
        from {{ dbt_cdc._state_beside(instance.mapping, 'change_tables') }}
        where
            lower(capture_instance) = {{ dbt_cdc._literal(instance.name | lower) }}
            and create_date > current_timestamp() - interval '{{ grace_minutes | int }}' minute
    )
having count(*) > 0
{% endtest %}
