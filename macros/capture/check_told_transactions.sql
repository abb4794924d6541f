{#- What the COMMITs of a log of one's own tell in the column `transaction`, against its records. An adapter tells what
    it writes in one statement: there, reading COMMITs alone is the point. -#}
{% macro _check_told_transactions(previous_lsn, to_lsn) %}
    {% set log = dbt_cdc._log_relation() %}
    {% if not dbt_cdc._log_is_of_adapter() and dbt_cdc._tells_transactions(log, previous_lsn, to_lsn) %}
        {#- records may be below the window -#}
        {% set first_lsn = dbt_cdc._fetch('select min(begin_lsn) as lsn from (\n    '
            ~ dbt_cdc._indent(dbt_cdc._told_transactions(log, previous_lsn, to_lsn), 4) ~ '\n)')[0].lsn %}
        {% for row in dbt_cdc._fetch(dbt_cdc._told_otherwise_sql(
            log, previous_lsn, to_lsn, first_lsn or to_lsn)) %}
            {% do dbt_cdc.raise_cdc_error(
                22859, 'bad log record of lsn ' ~ row.commit_lsn ~ ', tran_id ' ~ row.tran_id
                ~ ', column transaction: it tells ' ~ row.told ~ '; the log has ' ~ row.found,
                'nothing of this scan is published; correct `transaction` (an UPDATE, sent by run_statement), or leave '
                ~ 'it NULL, or the column away: then the scan reads all records'
            ) %}
        {% endfor %}
    {% endif %}
{% endmacro %}


{#- The first transaction that commits after `previous_lsn` and up to `to_lsn` and has other records than its COMMIT
    tells; they are looked for from `first_lsn` on, and a begin_lsn may be below the first. -#}
{% macro _told_otherwise_sql(log, previous_lsn, to_lsn, first_lsn) -%}
with told as (
    {{ dbt_cdc._indent(dbt_cdc._told_transactions(log, previous_lsn, to_lsn), 4) }}
),

found as (
    {%- set floor_lsn = [dbt_cdc.decrement_lsn([first_lsn, dbt_cdc.increment_lsn(dbt_cdc._zero_lsn())] | max),
        previous_lsn] | min %}
    {{ dbt_cdc._indent(dbt_cdc._found_transactions(log, floor_lsn, to_lsn, none), 4) }}
),

texts as (
    select
        commit_lsn,
        told.tran_id,
        {{ dbt_cdc._indent(
            dbt_cdc._transaction_text('told', 'greatest(told.begin_lsn, found.begin_lsn)'), 8) }} as told,
        {{ dbt_cdc._indent(dbt_cdc._transaction_text('found', 'found.begin_lsn'), 8) }} as found
    from told
    inner join found using (commit_lsn)
)

select * from texts
where told <> found
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
