{% macro _log_line(text) %}
    {% do log('cdc: ' ~ text, info=true) %}
{% endmacro %}
