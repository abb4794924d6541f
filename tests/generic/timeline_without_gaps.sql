{#- Published changes of commits that lsn_time_mapping lacks, so that no window by time finds
    them. -#}
{% test timeline_without_gaps(model) %}
{%- set instance = dbt_cdc._tested_instance(model) %}
select
    `__$start_lsn` as start_lsn,
    count(*) as change_rows
from {{ model }}
where
    `__$start_lsn` >= '{{ instance.interval.get('low_end', '') }}'
    and `__$start_lsn` <= '{{ instance.interval.get('high_end') or '' }}'
    and `__$start_lsn` not in (
        select start_lsn from {{ dbt_cdc._state_beside(instance.mapping, 'lsn_time_mapping') }}
        where start_lsn is not null
    )
group by `__$start_lsn`
{% endtest %}
