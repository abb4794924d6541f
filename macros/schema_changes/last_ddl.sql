{#- The last DDL record of a table that lists its columns and was committed: {lsn, columns}, or none. -#}
{% macro _last_ddl(log, source_schema, source_name) %}
    {% for row in dbt_cdc._fetch(dbt_cdc._last_ddl_sql(log, source_schema, source_name)) %}
        {% do return({'lsn': row.lsn, 'columns': dbt_cdc._columns_of_record({
            'operation': 'DDL', 'source_schema': source_schema, 'source_name': source_name, 'lsn': row.lsn
        }, row.after_image)}) %}
    {% endfor %}
    {% do return(none) %}
{% endmacro %}


{#- An id of a transaction may be used again, also where it never ended. -#}
{% macro _last_ddl_sql(log, source_schema, source_name) -%}
    with ddl as (
        select lsn, tran_id, after_image
        from {{ log }}
        where {{ dbt_cdc._is_of_table(source_schema, source_name) }}
            and operation = 'DDL' and after_image <> '[]'
    ),

    bounds as (
        select tran_id as bound_id, lsn as bound_lsn, operation as bound
        from {{ log }}
        where operation in ('BEGIN', 'COMMIT', 'ROLLBACK')
    )

    select lsn, after_image
    from ddl
    left join bounds on tran_id = bound_id and lsn < bound_lsn
    group by lsn, tran_id, after_image
    having tran_id is null or min_by(bound, bound_lsn) = 'COMMIT'
    order by lsn desc
    limit 1
{%- endmacro %}
