{#- The canonical log (one row per log record) from landed Debezium events: the body of a model,
    materialised as view, table or incremental (append). Only whole transactions, in the order of
    their commits; `_log.yml` tells the arguments and how LSNs are made. -#}
{% macro debezium_log(events, connector='postgresql', types=none, before_images=none) -%}
    {%- do dbt_cdc._debezium_check_arguments(connector, types, before_images) -%}
    {%- set batch = dbt_cdc._debezium_batch(events) -%}
with landed as (
    {{ dbt_cdc._debezium_landed(events, batch) }}
),

{{ dbt_cdc._debezium_events(types or dbt_cdc._debezium_declared_types(), before_images or {}) }},

{{ dbt_cdc._debezium_changes(batch) }},

{{ dbt_cdc._debezium_transactions(batch) }},

{{ dbt_cdc._debezium_records() }}

select * from records
{%- if batch.is_incremental %}
-- Delta checks an append that reads its target: of two runs at the same time one appends
where not exists (
    select 1 from {{ this }} where lsn > '{{ dbt_cdc._debezium_lsn(batch.last_commit) }}'
)
{%- endif %}
{%- endmacro %}


{#- The LSN (text) of a commit number. -#}
{% macro _debezium_lsn(commit_number) %}
    {% do return('0x' ~ '%014X' | format(commit_number) ~ '000000') %}
{% endmacro %}
