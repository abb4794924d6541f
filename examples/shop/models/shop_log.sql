{#- The canonical log of the shop database. `types` says what Debezium's JSON does not tell. -#}
{{ config(materialized='incremental', incremental_strategy='append', file_format='delta') }}

{{ dbt_cdc.debezium_log(
    ref('shop_events'),
    types={
        'public.customers': {
            'balance': 'decimal(18,4)', 'wide': 'decimal(38,18)', 'avatar': 'binary',
            'birth': 'date', 'updated_at': 'timestamp(3)',
        },
        'public.orders': {'amount': 'decimal(12,2)'},
    },
    before_images={'public.docs': 'key'},
) }}
