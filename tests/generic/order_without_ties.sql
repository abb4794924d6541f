{#- Changes that the order of changes does not distinguish: captured twice, or from a log whose LSNs
    are not unique. -#}
{% test order_without_ties(model) %}
select
    `__$start_lsn` as start_lsn,
    `__$command_id` as command_id,
    `__$seqval` as seqval,
    `__$operation` as operation,
    count(*) as change_rows
from {{ model }}
group by `__$start_lsn`, `__$command_id`, `__$seqval`, `__$operation`
having count(*) > 1
{% endtest %}
