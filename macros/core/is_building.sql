{#- What the command does with the project's models. -#}

{#- True where dbt really builds models (run, build): only then may state be written. -#}
{% macro _is_building() %}
    {% set is_building = execute and flags.WHICH in ['run', 'build', 'retry'] and not flags.EMPTY
        and not dbt_cdc._is_unit_test() %}
    {% do dbt_cdc._check_reads_all() if is_building %}
    {% do return(is_building) %}
{% endmacro %}


{#- `--sample` leaves rows out of what has an `event_time`: the state would move past them. -#}
{% macro _check_reads_all() %}
    {% do dbt_cdc.raise_cdc_error(
        22938, 'a run with --sample (or DBT_SAMPLE) leaves out rows, which '
        ~ (model.name if model is defined else 'capture') ~ ' would lack for good',
        'run without it, or select only models that neither capture nor consume changes'
    ) if dbt_cdc._is_sample() %}
{% endmacro %}


{% macro _is_sample() %}
    {% do return(invocation_args_dict.get('sample') is not none) %}
{% endmacro %}


{#- Whether somebody waits for rows, so that a window that nobody has published is an error. -#}
{% macro _is_asked() %}
    {% do return(flags.WHICH not in ['compile', 'generate', 'list', 'parse'] and not flags.EMPTY) %}
{% endmacro %}


{% macro _is_unit_test() %}
    {% do return(model is defined and model.get('resource_type') == 'unit_test') %}
{% endmacro %}


{#- dbt shows a unit test neither the models beside its own nor what is published. -#}
{% macro _check_is_no_unit_test() %}
    {% do dbt_cdc.raise_cdc_error(
        22938, 'unit test ' ~ model.name ~ ' calls a macro whose value depends on what is declared or published, '
        ~ 'which dbt does not show to it',
        "say what it gives under overrides, e.g. {macros: {dbt_cdc.get_column_ordinal: 2}}, as "
        ~ dbt_cdc._page('ci.md') ~ ' shows'
    ) if dbt_cdc._is_unit_test() %}
{% endmacro %}
