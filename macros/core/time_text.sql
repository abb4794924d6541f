{#- A UTC time as the macros take it -> yyyy-mm-dd hh:mm:ss[.ffffff]; NULL stays NULL, anything that is
    no time is an error. -#}
{% macro _normalize_time(time, argument) %}
    {% if time is none %}
        {% do return(none) %}
    {% endif %}
    {% set text = time | string | trim %}
    {% set pattern = '^\\d{4}-\\d{2}-\\d{2}([T ]\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,9})?(Z|[+-]\\d{2}:\\d{2})?)?)?$' %}
    {% if modules.re.match(pattern, text) %}
        {% set value = dbt_cdc._fetch(
            "select cast(try_cast('" ~ text ~ "' as timestamp) as string) as time"
        )[0].time %}
    {% endif %}
    {% if not value %}
        {% do dbt_cdc.raise_cdc_error(
            313, argument ~ " '" ~ text ~ "' is not a time",
            'give yyyy-mm-dd hh:mm:ss, with an offset (+02:00) where it is not UTC'
        ) %}
    {% endif %}
    {% do return(value) %}
{% endmacro %}


{#- The SQL of a normalized time. -#}
{% macro _time_literal(time) -%}
    {{ "timestamp'" ~ time ~ "'" if time else 'cast(null as timestamp)' }}
{%- endmacro %}
