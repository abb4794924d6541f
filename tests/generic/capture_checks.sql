{#- The checks of a change table in one line, with their defaults: capture_lag, order_without_ties,
    timeline_without_gaps and within_retention. It watches, and holds no publication back. Returns
    the rows of those that fail, each with the check's name. -#}
{% test capture_checks(model, max_minutes=60, grace_minutes=2880) %}
select
    'capture_lag' as failed_check,
    to_json(struct(*)) as failing_row
from ({{ dbt_cdc.test_capture_lag(model, max_minutes) }})
union all
select
    'order_without_ties' as failed_check,
    to_json(struct(*)) as failing_row
from ({{ dbt_cdc.test_order_without_ties(model) }})
union all
select
    'timeline_without_gaps' as failed_check,
    to_json(struct(*)) as failing_row
from ({{ dbt_cdc.test_timeline_without_gaps(model) }})
union all
select
    'within_retention' as failed_check,
    to_json(struct(*)) as failing_row
from ({{ dbt_cdc.test_within_retention(model, grace_minutes) }})
{% endtest %}
