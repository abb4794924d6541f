{#- The commits of a table, or the last ones, as many as `count`; the newest first. -#}
{% macro _last_commits(relation, count=none) %}
    {% do return(dbt_cdc._fetch('describe history ' ~ relation ~ (' limit ' ~ count if count))) %}
{% endmacro %}


{#- What Delta's history says of the last commit of that kind; none where it is not among the last ones. -#}
{% macro _last_metric(relation, operation, name) %}
    {% for row in dbt_cdc._last_commits(relation, 5)
        if row.operation == operation %}
        {% do return(dbt_cdc._metric(row, name)) %}
    {% endfor %}
    {% do return(none) %}
{% endmacro %}


{% macro _metric(commit, name) %}
    {% set found = modules.re.search(name ~ '\\W+(\\d+)', commit.operationMetrics | string) %}
    {% do return(found[1] | int if found else none) %}
{% endmacro %}


{#- What Delta's history calls the statement that makes a table out of rows. -#}
{% macro _makes_of_a_table() %}
    {% do return(['CREATE TABLE AS SELECT', 'CREATE OR REPLACE TABLE AS SELECT', 'REPLACE TABLE AS SELECT']) %}
{% endmacro %}
