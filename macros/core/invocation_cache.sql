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


{#- How far the run has come, by SQL Server's numbers (macros/materializations/record_session.sql). -#}
{% macro _enter_phase(number) %}
    {% do dbt_cdc._invocation_cache().update(phase=number) %}
{% endmacro %}
