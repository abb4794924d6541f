{#- What the COMMITs of a log of one's own tell in the column `transaction`, against its records. An adapter tells what
    it writes in one statement: there, reading COMMITs alone is the point. -#}
{% macro _check_told_transactions(previous_lsn, to_lsn) %}
    {% set log = dbt_cdc._log_relation() %}
    {% set checked = dbt_cdc._invocation_cache().setdefault('checked_transactions', []) %}
    {% if (previous_lsn, to_lsn) not in checked and not dbt_cdc._log_is_of_adapter()
        and dbt_cdc._tells_transactions(log, previous_lsn, to_lsn) %}
        {% do checked.append((previous_lsn, to_lsn)) %}
        {% for row in dbt_cdc._fetch(dbt_cdc._told_otherwise_sql(log, previous_lsn, to_lsn)) %}
            {% do dbt_cdc.raise_cdc_error(
                22859, 'bad log record of lsn ' ~ row.commit_lsn ~ ', tran_id ' ~ row.tran_id
                ~ ', column transaction: it tells ' ~ row.told ~ '; the log has ' ~ row.found,
                'nothing of this scan is published; correct `transaction` (an UPDATE, sent by run_statement), or leave '
                ~ 'it NULL: then the scan reads all records'
            ) %}
        {% endfor %}
    {% endif %}
{% endmacro %}


{#- The first transaction that commits after `previous_lsn` and up to `to_lsn` and has other records than its COMMIT
    tells, wherever they are in the log. A begin_lsn may be below the first, but not below a record of another
    transaction that had this id. From the log's beginning on those count that began in it, as it may have been cut. -#}
{% macro _told_otherwise_sql(log, previous_lsn, to_lsn) -%}
with told as (
    {{ dbt_cdc._indent(dbt_cdc._told_transactions(log, previous_lsn, to_lsn), 4) }}
),

of_told as (
    select log.*
    from {{ log }} as log
    left semi join told on log.tran_id = told.tran_id
    union all
    select * from {{ log }} where tran_id is null and lsn > '{{ previous_lsn }}' and lsn <= '{{ to_lsn }}'
),

found as (
    {{ dbt_cdc._indent(dbt_cdc._found_transactions(
        'of_told', dbt_cdc._zero_lsn(), to_lsn, none, is_scan=true), 4) }}
),

captured as (
    select
        told.commit_lsn,
        count(*) as records
    from told
    inner join of_told on told.tran_id = of_told.tran_id and of_told.lsn between told.begin_lsn and told.commit_lsn
    group by told.commit_lsn
),

texts as (
    select
        commit_lsn,
        told.tran_id,
        told.begin_lsn,
        {{ dbt_cdc._indent(dbt_cdc._transaction_text('told', 'if(captured.records <> found.record_count, '
            ~ 'told.begin_lsn, greatest(told.begin_lsn, found.begin_lsn))'), 8) }} as told,
        {{ dbt_cdc._indent(dbt_cdc._transaction_text('found', 'found.begin_lsn'), 8) }} as found
    from told
    inner join found using (commit_lsn)
    left join captured using (commit_lsn)
)

select * from texts
where told <> found{{ ' and begin_lsn >= (select min(lsn) from ' ~ log ~ ')' if previous_lsn == dbt_cdc._zero_lsn() }}
order by commit_lsn
limit 1
{%- endmacro %}


{#- What a transaction holds, for comparing and reading. -#}
{% macro _transaction_text(transaction, begin_lsn) -%}
    {%- set tables = {'inserts or deletes': 'changed_tables', 'updates': 'updated_tables'} -%}
concat_ws(
    ', ', concat(coalesce(cast({{ transaction }}.record_count as string), 'no number of'), ' records from ', {# -#}
    {{ begin_lsn }}, ' on'),
    {%- for what, column in tables.items() %}
    '{{ what }} in ' || nullif(array_join(array_sort(array_distinct(transform(
        {{ transaction }}.{{ column }}, it -> concat(it.source_schema, '.', it.source_name)
    ))), ' and '), ''),
    {%- endfor %}
    nullif(array_join(array_sort(transform(
        coalesce({{ transaction }}.schema_changes, array()),
        it -> concat(it.operation, ' of ', it.source_schema, '.', it.source_name, ' at ', it.lsn)
    )), ', '), '')
)
{%- endmacro %}
