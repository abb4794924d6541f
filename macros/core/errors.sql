{#- How an error reads: its number, what is wrong with the values, what to do, and the page that has more
    on it. `raise_cdc_error` stops compilation; inside a statement the end is `_advice`, as a literal. -#}

{% macro raise_cdc_error(number, problem, advice) %}
    {% do exceptions.raise_compiler_error(dbt_cdc._error_text(number, problem, advice)) %}
{% endmacro %}


{% macro _error_text(number, problem, advice) %}
    {% do return('CDC ' ~ number ~ ': ' ~ problem ~ dbt_cdc._advice(advice)) %}
{% endmacro %}


{% macro _advice(advice) %}
    {% do return(': ' ~ advice ~ dbt_cdc._error_page()) %}
{% endmacro %}


{#- Where each number has a heading. -#}
{% macro _error_page() %}
    {% do return(' (' ~ dbt_cdc._page('errors.md') ~ ')') %}
{% endmacro %}


{#- The path of a page of docs/, from the folder of the project that runs. -#}
{% macro _page(name) %}
    {% do return('dbt_packages/dbt_cdc/docs/' ~ name) %}
{% endmacro %}


{% macro _bad_record_advice() %}
    {% do return(
        'nothing of this scan is published; correct the record in the log (an UPDATE, sent by run_statement), '
        ~ 'or say how the column is encoded (source_type) or which type it has by now (data_type), then run again'
    ) %}
{% endmacro %}


{#- `settings`: where the YAML says before_image, e.g. meta.cdc. -#}
{% macro _complete_images_advice(settings) %}
    {% do return(
        'make the source log complete images (PostgreSQL: alter table ... replica identity full; '
        ~ 'MySQL: binlog_row_image=FULL; Oracle: supplemental log data (all) columns), or accept '
        ~ 'partial ones with ' ~ settings ~ '.before_image: partial; then run again'
    ) %}
{% endmacro %}


{#- Stops a scan: an expression of type string that never returns. `place` and `problem` are SQL. -#}
{% macro _raise_bad_record(place, problem, advice=none) -%}
    raise_error(concat(
        'CDC 22859: bad log record of ', {{ place }}, ': ', {{ problem }},
        {{ dbt_cdc._literal(dbt_cdc._advice(advice or dbt_cdc._bad_record_advice())) }}
    ))
{%- endmacro %}


{% macro _connector_advice() %}
    {% do return(
        "debezium_log reads 'postgresql', 'mysql', 'mariadb' and 'sqlserver', as its argument connector says; of "
        ~ 'another source write the canonical log in a model of your own, as '
        ~ dbt_cdc._page('log.md') ~ ' has it'
    ) %}
{% endmacro %}


{% macro _raise_not_captured(table) %}
    {% do dbt_cdc.raise_cdc_error(
        22985, 'table ' ~ table ~ ' is not captured',
        'dbt run-operation help_change_data_capture shows what is'
    ) %}
{% endmacro %}
