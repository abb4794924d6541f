{#- After a cleanup: one file of the many small ones that runs leave, and on demand a VACUUM, also of all state. A
    warehouse of Databricks has settings of its own for files, which nobody can set. -#}
{% macro _tend_files(tables, compact, vacuum_hours) %}
    {% set tended, state = tables | rejectattr('removed_rows', 'equalto', 'failed') | list, [] %}
    {% for name in dbt_cdc._present_state_tables() %}
        {% do state.append({'name': name, 'relation': dbt_cdc._state_relation(name)}) %}
    {% endfor %}
    {% if compact and target.type != 'databricks' %}
        {#- those to which each run adds rows -#}
        {% set growing = ['lsn_time_mapping', 'scan_transactions', 'scan_sessions', 'dm_cdc_errors',
            'event_balances'] %}
        {% for table in tended + (state | selectattr('name', 'in', growing) | list)
            if dbt_cdc._is_worth_compacting(table.relation) %}
            {% do table.update(compacted_files=dbt_cdc._compact_table(table.relation)) %}
        {% endfor %}
    {% endif %}
    {% for table in tended + state if vacuum_hours %}
        {% do run_query('vacuum ' ~ table.relation ~ ' retain ' ~ vacuum_hours ~ ' hours') %}
    {% endfor %}
{% endmacro %}


{#- Fifty commits, or what var cdc_compact_after says, since the last time. -#}
{% macro _is_worth_compacting(relation) %}
    {% set enough = dbt_cdc._number_of_var('cdc_compact_after', 50) %}
    {% set commits = dbt_cdc._last_commits(relation, enough) %}
    {% do return(
        commits | length == enough and 'OPTIMIZE' not in commits | map(attribute='operation') | list
    ) %}
{% endmacro %}


{#- One bin takes all files below 16 MB, and larger ones are never touched again: the small files are the
    newest, so the new one has an LSN range of its own (docs/decisions/0006). How many files it took
    in, or 'failed'. -#}
{% macro _compact_table(relation) %}
    {% set sizes = {'minFileSize': 16777216, 'maxFileSize': 1099511627776} %}
    {% for name, size in sizes.items() %}
        {% do dbt_cdc._send_setting('set spark.databricks.delta.optimize.' ~ name ~ '=' ~ size) %}
    {% endfor %}
    {% set optimize = 'optimize ' ~ relation %}
    {% set outcome = dbt_cdc._fetch(dbt_cdc._on_failure(
        'execute immediate ' ~ dbt_cdc._literal(optimize) ~ ";\nselect 'done' as outcome",
        "select 'failed' as outcome"))[0].outcome %}
    {% for name in sizes %}
        {% do dbt_cdc._send_setting('reset spark.databricks.delta.optimize.' ~ name) %}
    {% endfor %}
    {% do return(
        'failed' if outcome == 'failed'
        else dbt_cdc._last_metric(relation, 'OPTIMIZE', 'numRemovedFiles') or 0
    ) %}
{% endmacro %}


{% macro _check_vacuum_hours(hours) %}
    {% do dbt_cdc.raise_cdc_error(
        22850, 'vacuum_hours is ' ~ hours,
        'give 168 (a week) or more, so that no query and no run loses the files that it reads; for '
        ~ "less, call Delta's vacuum yourself"
    ) if hours is not none and (hours is not number or hours < 168) %}
{% endmacro %}
