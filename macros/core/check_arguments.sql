{#- Arguments that several macros take. -#}

{#- A name without quotes may be none to YAML: it reads 2024 and 0123 as numbers, on and no as booleans, and the log
    has nothing of a table that is called so. -#}
{% macro _check_is_text(setting, value) %}
    {% do dbt_cdc.raise_cdc_error(
        22963, setting ~ ' is ' ~ value ~ ', which YAML does not take for a text',
        "put the name in quotes, as the source spells it: '2024', 'on'"
    ) if value is not none and value is not string %}
{% endmacro %}


{#- The names that a setting lists; of a single one YAML may have no list. -#}
{% macro _checked_names(setting, names) %}
    {% set names = names if names is sequence and names is not string else [] if names in [none, ''] else [names] %}
    {% for name in names %}
        {% do dbt_cdc._check_is_text(setting, name) %}
    {% endfor %}
    {% do return(names) %}
{% endmacro %}


{#- Settings as YAML has them: one that is NULL has its default, as in SQL Server. -#}
{% macro _without_nulls(settings) %}
    {% set given = {} %}
    {% for name, value in settings.items() if value is not none %}
        {% do given.update({name: value}) %}
    {% endfor %}
    {% do return(given) %}
{% endmacro %}


{#- A switch, also where it comes as text, as each of env_var does. While dbt parses, none stops the project. -#}
{% macro _as_boolean(name, value) %}
    {% set meanings = {'true': true, '1': true, 'false': false, '0': false} %}
    {% set text = value | string | lower | trim %}
    {% do dbt_cdc.raise_cdc_error(22963, name ~ " is '" ~ value ~ "'", 'give true or false')
        if execute and text not in meanings %}
    {% do return(meanings.get(text, false)) %}
{% endmacro %}


{#- `element` is what was given, as an element of the list that it ought to be. -#}
{% macro _check_is_list(variable, given, element) %}
    {% do dbt_cdc.raise_cdc_error(
        22963, 'var ' ~ variable ~ " is '" ~ given ~ "'",
        'give a list: vars: {' ~ variable ~ ': [' ~ element ~ ']}'
    ) if given is string or given is mapping or given is not sequence %}
{% endmacro %}


{% macro _check_source_given(source_schema, source_name) %}
    {% for name, value in {'source_schema': source_schema, 'source_name': source_name}.items() %}
        {% do dbt_cdc.raise_cdc_error(22963, name ~ ' is NULL or empty', 'name the source table')
            if value is undefined or value is none or not value | string | trim %}
        {% do dbt_cdc._check_is_text(name, value) %}
    {% endfor %}
{% endmacro %}
