{#- The persistent functions around LSNs: name -> the rest of `create function`. -#}
{% macro _lsn_functions() %}
    {% set view = dbt_cdc._validity_intervals() %}
    {% do return({
        'fn_cdc_get_min_lsn': "(capture_instance_name string) returns string return coalesce(("
            ~ 'select max(low_end) from ' ~ view
            ~ ' where lower(capture_instance) = lower(capture_instance_name)), \''
            ~ dbt_cdc._zero_lsn() ~ "')",
        'fn_cdc_get_max_lsn': '() returns string return (select max(high_end) from ' ~ view ~ ')',
        'fn_cdc_increment_lsn': '(lsn string) returns string return ' ~ dbt_cdc._shift_lsn_sql(1),
        'fn_cdc_decrement_lsn': '(lsn string) returns string return ' ~ dbt_cdc._shift_lsn_sql(-1),
        'fn_cdc_map_time_to_lsn': '(relational_operator string, tran_time timestamp) '
            ~ 'returns string return ' ~ dbt_cdc._map_time_sql(),
        'fn_cdc_map_lsn_to_time': '(lsn string) returns timestamp return '
            ~ dbt_cdc._map_lsn_sql(),
    }) %}
{% endmacro %}


{% macro _map_time_sql() -%}
    {%- set operators = dbt_cdc._time_operators() -%}
    case
        when coalesce(lower(trim(relational_operator)), '') not in ('{{ operators | join("', '") }}')
            then raise_error(concat(
                'CDC 313: fn_cdc_map_time_to_lsn: relational_operator \'',
                coalesce(relational_operator, 'NULL'), {{ dbt_cdc._literal(
                    "' is unknown" ~ dbt_cdc._advice("give '" ~ operators | join("' or '") ~ "'")) }}))
        {%- for word, aggregate, comparison in [('largest', 'max', '<'), ('smallest', 'min', '>')] %}
        when lower(trim(relational_operator)) like '{{ word }}%' then (
            select {{ aggregate }}(struct(tran_end_time, start_lsn)).start_lsn
            from {{ dbt_cdc._state_relation('lsn_time_mapping') }}
            where
                start_lsn <= (select max(high_end) from {{ dbt_cdc._validity_intervals() }})
                and (
                    tran_end_time {{ comparison }} tran_time
                    or tran_end_time = tran_time and lower(relational_operator) like '%equal%'
                )
        )
        {%- endfor %}
    end
{%- endmacro %}


{% macro _map_lsn_sql() -%}
    case
        when lsn is not null and {{ dbt_cdc._normalized_lsn_sql('lsn') }} is null
            then raise_error(concat('CDC 313: fn_cdc_map_lsn_to_time: \'', lsn,
                {{ dbt_cdc._literal("' is not an LSN" ~ dbt_cdc._advice('give 0x and 20 hexadecimal digits')) }}))
        else (
            select max(tran_end_time) from {{ dbt_cdc._state_relation('lsn_time_mapping') }}
            where
                start_lsn = concat('0x', upper(substr(lsn, 3)))
                and start_lsn <= (select max(high_end) from {{ dbt_cdc._validity_intervals() }})
        )
    end
{%- endmacro %}


{#- An LSN is moved as two numbers of 40 bits, with a carry between them. -#}
{% macro _shift_lsn_sql(step) -%}
    {%- set name = 'fn_cdc_' ~ ('increment' if step == 1 else 'decrement') ~ '_lsn' -%}
    {%- set high = "cast(conv(substr(lsn, 3, 10), 16, 10) as bigint)" -%}
    {%- set low = "cast(conv(substr(lsn, 13, 10), 16, 10) as bigint)" -%}
    {%- set last = '0x' ~ ('F' if step == 1 else '0') * 20 -%}
    case
        when lsn is null then null
        when not lsn rlike '(?i){{ dbt_cdc._lsn_pattern() }}' then raise_error(concat(
            'CDC 313: {{ name }}: \'', lsn,
            {{ dbt_cdc._literal("' is not an LSN" ~ dbt_cdc._advice('give 0x and 20 hexadecimal digits')) }}))
        when upper(lsn) = upper('{{ last }}') then raise_error({{ dbt_cdc._literal(
            dbt_cdc._error_text(313, name ~ ' of ' ~ last ~ ' leaves the range of LSNs',
                'there is none ' ~ ('after' if step == 1 else 'before') ~ ' it')) }})
        else concat(
            '0x',
            lpad(hex({{ high }} + {% if step == 1 -%}
                if({{ low }} = 1099511627775, 1, 0)
                {%- else -%} if({{ low }} = 0, -1, 0) {%- endif %}), 10, '0'),
            lpad(hex(pmod({{ low }} + {{ step }}, 1099511627776)), 10, '0')
        )
    end
{%- endmacro %}
