{#- A dictionary that lives as long as one dbt command: what was resolved once (the scan window,
    the capture instances) is asked of the database once. A manifest that is used again brings that of
    the command before. -#}
{% macro _invocation_cache() %}
    {% set cache = graph.setdefault('dbt_cdc', {}) %}
    {% if cache.get('invocation_id') != invocation_id %}
        {% do cache.clear() %}
        {% do cache.update(invocation_id=invocation_id) %}
    {% endif %}
    {% do return(cache) %}
{% endmacro %}


{#- True where dbt really builds models (run, build): only then may state be written. -#}
{% macro _is_building() %}
    {% do return(
        execute and flags.WHICH in ['run', 'build', 'retry'] and not flags.EMPTY
        and not dbt_cdc._is_unit_test()
    ) %}
{% endmacro %}


{#- Whether somebody waits for rows, so that a window that nobody has published is an error. -#}
{% macro _is_asked() %}
    {% do return(
        flags.WHICH not in ['compile', 'generate', 'list', 'parse'] and not flags.EMPTY
        and not dbt_cdc._is_unit_test()
    ) %}
{% endmacro %}


{% macro _is_unit_test() %}
    {% do return(model is defined and model.get('resource_type') == 'unit_test') %}
{% endmacro %}


{#- How far the run has come, by SQL Server's numbers (macros/materializations/record_session.sql). -#}
{% macro _enter_phase(number) %}
    {% do dbt_cdc._invocation_cache().update(phase=number) %}
{% endmacro %}
