{#- A change_seq has 35 digits: the commit's time, YYYYMMDDHHmmSShh, and a number that only rises in a task. The time in
    hundredths since 1970 and the number, 40 bits each, are the LSN of a change; a COMMIT has the highest number. Rows
    of a full load have no change_seq: their time is 1. -#}

{#- CTEs `landed`, the rows of all tables as they are, and `placed`. -#}
{% macro _dms_rows(batch) -%}
{%- if batch.messages is not none -%}
{{ dbt_cdc._dms_messages(batch) }},
{%- else -%}
landed as (
    {%- for table, relation in batch.tables.items() %}
    {%- set columns = dbt_cdc._dms_columns(relation, batch.headers) %}
    {%- set keys = batch['keys'].get(table, []) %}
    {%- if execute %}
    select
        {{ dbt_cdc._literal(table.split('.')[0]) }} as source_schema,
        {{ dbt_cdc._literal(table.split('.')[1]) }} as source_name,
        nullif(trim(cast({{ dbt_cdc._column(columns.change_seq) }} as string)), '') as change_seq,
        upper(trim(cast({{ dbt_cdc._column(columns.operation) }} as string))) as letter,
        {{ "nullif(cast(" ~ dbt_cdc._column(columns.transaction_id) ~ " as string), '')" if 'transaction_id' in columns
            else 'cast(null as string)' }} as transaction_id,
        {{ dbt_cdc._indent(dbt_cdc._dms_landed_image(columns, keys), 8) }} as image,
        {{ dbt_cdc._indent(dbt_cdc._dms_image(dbt_cdc._dms_key(relation, columns.captured, keys)), 8) if keys
            else 'cast(null as string)' }} as key_image
    from {{ relation }}
    {%- endif %}
    {{ 'union all' if not loop.last }}
    {%- endfor %}
),
{%- endif %}

timed as (
    select
        *,
        unix_date(try_cast(
            concat_ws('-', substr(change_seq, 1, 4), substr(change_seq, 5, 2), substr(change_seq, 7, 2)) as date
        )) * {{ 24 * 360000 }}L
        + cast(substr(change_seq, 9, 2) as int) * 360000
        + cast(substr(change_seq, 11, 2) as int) * 6000
        + cast(substr(change_seq, 13, 4) as int) as hundredths,
        try_cast(substr(change_seq, 17, 19) as bigint) as number
    from (
        select
            * except (change_seq, transaction_id),
            -- zeros are the id of no transaction
            nullif(trim(leading '0' from transaction_id), '') as transaction_id,
            {{ dbt_cdc._dms_checked_seq() | indent(12) }} as change_seq
        from landed
    )
),

placed as (
    select
        * except (hundredths, letter),
        case
            when change_seq is null then 1
            when not coalesce(hundredths between 2 and {{ 2 ** 40 - 1 }} and number < {{ 2 ** 40 - 1 }}, false)
                then {{ dbt_cdc._raise_bad_record(
                    dbt_cdc._dms_place(), "'its time is none, or its number is above 2^40 - 2'",
                    'land change_seq as the task writes it, as text'
                ) | indent(16) }}
            else hundredths
        end as hundredths,
        case
            when letter like 'B%' and key_image is not null
                then {{ dbt_cdc._raise_bad_record(
                    dbt_cdc._dms_place(), "'it is an image before an update, and keys has the table'",
                    'keys is for tables without such rows: leave this one out of it'
                ) | indent(16) }}
            when coalesce(letter, 'I') in ('I', 'INSERT') then 'INSERT'
            when letter in ('U', 'UPDATE') then 'UPDATE'
            when letter in ('B', 'BEFOREIMAGE') then 'BEFORE'
            when letter in ('D', 'DELETE') then 'DELETE'
            when letter in ('T', 'TRUNCATE') then 'TRUNCATE'
            else {{ dbt_cdc._raise_bad_record(
                dbt_cdc._dms_place(), "concat('its operation is ', letter)", 'operations are I, U, B, D and T'
            ) | indent(12) }}
        end as operation
    from timed
    where not coalesce({{ dbt_cdc._is_given_up('change_seq') }}, false)
)
{%- endmacro %}


{#- The change_seq, or an error. -#}
{% macro _dms_checked_seq() -%}
case
    when if(change_seq is null, coalesce(letter, 'I') not in ('I', 'INSERT'), letter is null)
        then {{ dbt_cdc._raise_bad_record(
            dbt_cdc._dms_place(), "concat('its operation is ', coalesce(letter, 'NULL'))",
            'a change has an operation and a change_seq; a row of a full load has no change_seq, and I or no operation'
        ) | indent(8) }}
    when not change_seq rlike '^[0-9]{8}([01][0-9]|2[0-3])[0-5][0-9][0-5][0-9]{22}\\z'
        then {{ dbt_cdc._raise_bad_record(
            dbt_cdc._dms_place(), "'a change_seq has 35 digits, YYYYMMDDHHmmSShh first'",
            'land it as text: a number loses its last digits'
        ) | indent(8) }}
    else change_seq
end
{%- endmacro %}


{% macro _dms_place() %}
    {% do return("concat('table ', source_schema, '.', source_name, ', change_seq ', coalesce(change_seq, 'NULL'))") %}
{% endmacro %}


{#- What a deleted row has beside its key not all sources tell: with `keys` its NULLs are left out. -#}
{% macro _dms_landed_image(columns, keys) -%}
{%- set image = dbt_cdc._dms_image(columns.captured) -%}
{%- if keys -%}
if(
    upper(trim(cast({{ dbt_cdc._column(columns.operation) }} as string))) in ('D', 'DELETE'),
    {{ dbt_cdc._indent(dbt_cdc._dms_image(columns.captured, keeps_nulls=false), 4) }},
    {{ dbt_cdc._indent(image, 4) }}
)
{%- else -%}
{{ image }}
{%- endif -%}
{%- endmacro %}


{% macro _dms_image(columns, keeps_nulls=true) -%}
to_json({{ dbt_cdc._exported_struct(columns) }}{{ ", map('ignoreNullFields', 'false')" if keeps_nulls }})
{%- endmacro %}


{#- The columns of a key, or an error that says which are missing. -#}
{% macro _dms_key(relation, captured, keys) %}
    {% set columns = [] %}
    {% for key in keys %}
        {% set found = captured | selectattr('name', 'equalto', key) | list %}
        {% do dbt_cdc.raise_cdc_error(
            22963, 'dms_log: ' ~ relation ~ ' has no column ' ~ key,
            'keys names columns of the table: ' ~ captured | map(attribute='name') | join(', ')
        ) if not found %}
        {% do columns.append(found[0]) %}
    {% endfor %}
    {% do return(columns) %}
{% endmacro %}


{#- The LSN of a change, and of a COMMIT. -#}
{% macro _dms_lsn(hundredths, number=none) -%}
concat('0x', lpad(hex({{ hundredths }}), 10, '0'), {{ 'lpad(hex(' ~ number ~ "), 10, '0')" if number
    else "'FFFFFFFFFF'" }})
{%- endmacro %}


{#- Commits up to here have landed in all tables. -#}
{% macro _dms_settled(batch) -%}
unix_millis(current_timestamp()) div 10 - {{ (batch.settle_minutes * 6000) | int }}
{%- endmacro %}
