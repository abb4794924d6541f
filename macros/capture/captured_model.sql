{#- What the instance is made of: the model with its YAML. A unit test, which knows neither the
    YAML nor `graph`, overrides this macro (examples/shop/models/_shop.yml). -#}
{% macro captured_model() %}
    {% do return(model) %}
{% endmacro %}
