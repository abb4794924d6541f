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
    {% do dbt_cdc.raise_cdc_error(
        313, argument ~ " '" ~ text ~ "' is not a time",
        'give yyyy-mm-dd hh:mm:ss, with an offset (+02:00) where it is not UTC'
    ) if not value %}
    {% do return(value) %}
{% endmacro %}


{#- The SQL of a normalized time. -#}
{% macro _time_literal(time) -%}
    {{ "timestamp'" ~ time ~ "'" if time else 'cast(null as timestamp)' }}
{%- endmacro %}


{#- The zone in which the session reads and writes times; else what it reads otherwise: times without one (the name of
    their type), backslashes of literals (`escaped`), a comma in a decimal (`comma`). -#}
{% macro _session_time_zone() %}
    {% set type = "typeof(timestamp'1970-01-01 00:00:00')" %}
    {% do return(
        "case when length('\\\\') = 2 then 'escaped' "
        ~ "when from_json('{\"a\": \"1,5\"}', 'a decimal(9,2)', map('locale', '" ~ dbt_cdc._number_locale()
        ~ "')).a is not null then 'comma' when " ~ type ~ " = 'timestamp' then current_timezone() else " ~ type ~ ' end'
    ) %}
{% endmacro %}


{#- Spark's JSON parser passes over the locale's grouping sign anywhere in a decimal in quotes: in Fula (Adlam) it is
    U+2E41, which no log has; in others with a decimal point a comma, an apostrophe or a blank. -#}
{% macro _number_locale() %}
    {% do return('ff-Adlm-u-nu-latn') %}
{% endmacro %}


{#- Text without an offset is UTC, and Spark reads and writes it in the zone of its session. -#}
{% macro _check_time_zone(time_zone) %}
    {% if time_zone == 'escaped' %}
        {% do dbt_cdc.raise_cdc_error(
            22859, "the session's spark.sql.parser.escapedStringLiterals is true",
            "set it to 'false' in the profile: patterns and texts with backslashes would be others"
        ) %}
    {% elif time_zone == 'comma' %}
        {% do dbt_cdc.raise_cdc_error(
            22859, "Spark's Java has no data of locales: it would read a decimal '1,5' as 15",
            'run Spark on a Java that has the module jdk.localedata, without java.locale.providers=COMPAT'
        ) %}
    {% elif time_zone == 'timestamp_ntz' %}
        {% do dbt_cdc.raise_cdc_error(
            22859, "the session's spark.sql.timestampType is TIMESTAMP_NTZ",
            "set spark.sql.timestampType: TIMESTAMP_LTZ in the profile: a time with an offset would lose it"
        ) %}
    {% elif time_zone not in ['UTC', 'Etc/UTC', 'GMT', 'Z', '+00:00', 'Etc/GMT'] %}
        {% do dbt_cdc.raise_cdc_error(
            22859, "the session's time zone is " ~ time_zone,
            "set spark.sql.session.timeZone: 'UTC' in the profile, of a Thrift server in its own configuration, and in "
            ~ 'no hook: times are UTC'
        ) %}
    {% endif %}
{% endmacro %}
