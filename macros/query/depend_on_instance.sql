{#- Tells dbt while it parses that a model reads an instance's change table. A name that no model of the
    project bears (of those that are listed, or that has a file) is left for error 22981: for an unknown `ref` dbt stops the whole project with an
    error of its own, before any macro runs. -#}
{% macro _depend_on_instance(capture_instance) %}
    {% set name = (capture_instance or '') | string | lower %}
    {% set listed = dbt_cdc._listed_instances() %}
    {% if listed is none %}
        {% do dbt_cdc._depend_on_model(name ~ '_ct') %}
    {% elif name in listed %}
        {% do ref(name ~ '_ct') %}
    {% endif %}
{% endmacro %}


{% macro _depend_on_model(name) %}
    {% set files = ref.manifest.files if ref.manifest is defined else none %}
    {% set found = [] %}
    {% for path in files or {} if path.lower().replace('\\', '/').endswith('/' ~ name ~ '.sql') %}
        {% do found.append(path) %}
    {% endfor %}
    {% if files is none or found %}
        {% do ref(name) %}
    {% endif %}
{% endmacro %}
