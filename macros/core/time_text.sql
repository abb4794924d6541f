{#- A UTC time as the macros take it -> yyyy-mm-dd hh:mm:ss[.ffffff]; NULL stays NULL, anything that is
    no time is an error. -#}
{% macro _normalize_time(time, argument) %}
    {% do return(none) if time is none %}
    {% set text = time | string | trim %}
    {% set pattern = '^\\d{4}-\\d{2}-\\d{2}([T ]\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,9})?(Z|[+-]\\d{2}:\\d{2})?)?)?$' %}
    {% if modules.re.match(pattern, text) %}
        {% set found = dbt_cdc._fetch(
            "select cast(try_cast('" ~ text ~ "' as timestamp) as string) as time, " ~ dbt_cdc._session_time_zone()
            ~ ' as time_zone'
        )[0] %}
        {% do dbt_cdc._check_time_zone(found.time_zone) %}
        {% set value = found.time %}
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


{#- The zone in which the session reads and writes times; where it reads them without one, the name of that type. -#}
{% macro _session_time_zone() %}
    {% set type = "typeof(timestamp'1970-01-01 00:00:00')" %}
    {% do return('if(' ~ type ~ " = 'timestamp', current_timezone(), " ~ type ~ ')') %}
{% endmacro %}


{#- Text without an offset is UTC, and Spark reads and writes it in the zone of its session. -#}
{% macro _check_time_zone(time_zone) %}
    {% if time_zone == 'timestamp_ntz' %}
        {% do dbt_cdc.raise_cdc_error(
            22859, "the session's spark.sql.timestampType is TIMESTAMP_NTZ",
            "set spark.sql.timestampType: TIMESTAMP_LTZ in the profile: a time with an offset would lose it"
        ) %}
    {% elif time_zone not in ['UTC', 'Etc/UTC', 'GMT', 'Z', '+00:00', 'Etc/GMT'] %}
        {% do dbt_cdc.raise_cdc_error(
            22859, "the session's time zone is " ~ time_zone,
            "set spark.sql.session.timeZone: 'UTC' in the profile: times are UTC"
        ) %}
    {% endif %}
{% endmacro %}
