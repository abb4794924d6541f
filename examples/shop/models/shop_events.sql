{#- The landed events: each file of the landing folder is read once, in the order of file names. -#}
{{ config(materialized='incremental', incremental_strategy='append', file_format='delta') }}

{% set last_file = '' %}
{% if is_incremental() %}
    {% set last_file = run_query('select max(landed_file) from ' ~ this).rows[0][0] or '' %}
{% endif %}

with landed as (
    select
        value as line,
        from_json(
            value,
            'position bigint, topic string, key string, value string, headers string'
        ) as event,
        _metadata.file_name as landed_file
    from text.`{{ var('shop_landing', 'data') }}`
    where _metadata.file_name > '{{ last_file }}'
)

select
    event.position,
    event.topic,
    event.key,
    event.value,
    event.headers,
    landed_file
from landed
-- stops at a line that was cut or has two events, and names its file; passes over an empty one
where
    if(
        (event.position is null and line <> '') or line rlike '[}]\\s*[{]\\s*"[a-z]',
        raise_error(concat(landed_file, ' has a line that is not one event: ', left(line, 200))),
        event is not null
    )
    {% if is_incremental() %}
        and not exists (
            select 1 from {{ this }} as present
            where present.landed_file > '{{ last_file }}'
        )
    {% endif %}
