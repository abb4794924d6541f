{#- Run-operation: sends one statement with the profile's settings, and prints the rows that it gives. For what no model
    does, as an UPDATE of a bad record in the log. -#}
{% macro run_statement(statement) %}
    {% do dbt_cdc.raise_cdc_error(
        22963, "statement is '" ~ statement ~ "'", 'give one SQL statement, e.g. an UPDATE of the log'
    ) if statement is not string or not statement | trim %}
    {% do dbt_cdc._print_rows(dbt_cdc._fetch(statement)) if execute %}
{% endmacro %}
