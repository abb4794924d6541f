{#- After a cleanup: one file of the many small ones that captures leave, and on demand a VACUUM. -#}
{% macro _tend_files(instances, compact, vacuum_hours) %}
    {% set tended = instances | rejectattr('removed_rows', 'equalto', 'failed') %}
    {% set relations = tended | map(attribute='relation') | list %}
    {% for table in ['lsn_time_mapping', 'scan_transactions', 'scan_sessions'] %}
        {% do relations.append(dbt_cdc._state_relation(table)) %}
    {% endfor %}
    {% if compact %}
        {% for relation in relations if dbt_cdc._is_worth_compacting(relation) %}
            {% set files = dbt_cdc._compact_table(relation) %}
            {% for instance in instances if instance.relation == relation %}
                {% do instance.update(compacted_files=files) %}
            {% endfor %}
        {% endfor %}
    {% endif %}
    {% if vacuum_hours %}
        {% for relation in relations %}
            {% do run_query('vacuum ' ~ relation ~ ' retain ' ~ vacuum_hours ~ ' hours') %}
        {% endfor %}
    {% endif %}
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
        {% do run_query('set spark.databricks.delta.optimize.' ~ name ~ '=' ~ size) %}
    {% endfor %}
    {% set optimize = 'optimize ' ~ relation %}
    {% set outcome = dbt_cdc._fetch(dbt_cdc._on_failure(
        'execute immediate ' ~ dbt_cdc._literal(optimize) ~ ";\nselect 'done' as outcome",
        "select 'failed' as outcome"))[0].outcome %}
    {% for name in sizes %}
        {% do run_query('reset spark.databricks.delta.optimize.' ~ name) %}
    {% endfor %}
    {% do return(
        'failed' if outcome == 'failed'
        else dbt_cdc._last_metric(relation, 'OPTIMIZE', 'numRemovedFiles') or 0
    ) %}
{% endmacro %}


{% macro _check_vacuum_hours(hours) %}
    {% if hours is not none and (hours is not number or hours < 168) %}
        {% do dbt_cdc.raise_cdc_error(
            22850, 'vacuum_hours is ' ~ hours,
            'give 168 (a week) or more, so that no query and no run loses the files that it reads; for '
            ~ "less, call Delta's vacuum yourself"
        ) %}
    {% endif %}
{% endmacro %}
