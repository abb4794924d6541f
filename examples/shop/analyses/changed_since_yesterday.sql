{#- What has changed in a table since yesterday 0:00 (UTC), or since --vars '{since: ...}'. -#}
{% set yesterday = (run_started_at - modules.datetime.timedelta(days=1)).strftime('%Y-%m-%d') %}

select *
from {{ dbt_cdc.all_changes_between('public_orders', start_time=var('since', yesterday)) }}
order by `__CDC_STARTLSN`, `__CDC_SEQVAL`, `__CDC_OPERATION`
