{#- The record's lsn, or the error that says what is wrong with the record. -#}
{% macro _checked_lsn() -%}
    {%- set place = "concat("
        ~ "coalesce(concat('table ', source_schema, '.', source_name), 'no table'), "
        ~ "', column operation, lsn ', lsn)" -%}
    case
        when not lsn rlike '{{ dbt_cdc._lsn_pattern() }}' then {{ dbt_cdc._raise_bad_record(
            place, "'the LSN is not 0x and 20 upper-case hexadecimal digits'") }}
        when operation = 'DDL' or operation = 'TRUNCATE' and source_schema is not null and source_name is not null
            then lsn
        when tran_id is null and operation <> 'TRUNCATE'
            then {{ dbt_cdc._raise_bad_record(place, "'tran_id is NULL'") }}
        when operation in ('BEGIN', 'COMMIT', 'ROLLBACK') then lsn
        when operation is null
            or operation not in ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE')
            then {{ dbt_cdc._raise_bad_record(
                place, "concat('the operation is ', coalesce(concat('\\'', operation, '\\''), 'NULL'))"
            ) }}
        when source_schema is null or source_name is null then {{ dbt_cdc._raise_bad_record(
            place, "concat('a record of operation ', operation, ' names no source table')") }}
        else lsn
    end
{%- endmacro %}


{% macro _operations() %}
    {% do return(['BEGIN', 'COMMIT', 'ROLLBACK', 'INSERT', 'UPDATE', 'DELETE', 'DDL', 'TRUNCATE']) %}
{% endmacro %}
