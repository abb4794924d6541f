{#- The database of one of the events, where a log begins. -#}
{% macro _debezium_first_database(events, batch) -%}
with landed as (
    select from_json(value, '{{ dbt_cdc._debezium_news_envelope(batch) }}') as event
    from {{ events }}
    where contains(value, '"source"')
),

sources as (
    select coalesce(event.source, event.payload.source) as source
    from landed
)

select {{ dbt_cdc._debezium_database(batch) }} as database
from sources
where {{ dbt_cdc._debezium_database(batch) }} is not null
limit 1
{%- endmacro %}
