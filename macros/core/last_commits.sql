{#- The commits of a table, or the last ones, as many as `count`; the newest first. -#}
{% macro _last_commits(relation, count=none) %}
    {% do return(dbt_cdc._fetch('describe history ' ~ relation ~ (' limit ' ~ count if count))) %}
{% endmacro %}


{#- Those of them, the newest first, whose rows the table still has: a RESTORE takes back all behind its version, and
    where it names a time, or another table was cloned, nothing before it is known. -#}
{% macro _commits_in_effect(commits) %}
    {% set kept, last = [], namespace(version=none) %}
    {% for commit in commits if last.version is none or commit.version <= last.version %}
        {% do kept.append(commit) %}
        {% set restored = dbt_cdc._restored_version(commit) %}
        {% set last.version = commit.version if restored is none else restored %}
    {% endfor %}
    {% do return(kept) %}
{% endmacro %}


{#- The version that a RESTORE names; -1 where it names a time, whose zone nothing tells, and for a CLONE; none for any
    other commit. -#}
{% macro _restored_version(commit) %}
    {% do return(none) if commit.operation not in ['RESTORE', 'CLONE'] %}
    {% set found = modules.re.search('version\\W+(\\d+)', commit.operationParameters | string)
        if commit.operation == 'RESTORE' else none %}
    {% do return(found[1] | int if found else -1) %}
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
