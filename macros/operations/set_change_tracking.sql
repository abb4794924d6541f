{#- Run-operation (alter database ... set change_tracking): the retention, e.g. '2 days', and
    whether the agent cleans up by itself. What is not given stays. -#}
{% macro set_change_tracking(change_retention=none, auto_cleanup=none, dry_run=false) %}
    {% if execute %}
        {% set dry_run = dbt_cdc._as_boolean('dry_run', dry_run) %}
        {% do dbt_cdc._check_enabled() %}
        {% set settings = dbt_cdc._tracking_settings() %}
        {% do settings.update(
            dbt_cdc._checked_retention(change_retention)) if change_retention is not none %}
        {% do settings.update(is_auto_cleanup_on=dbt_cdc._as_boolean('auto_cleanup', auto_cleanup))
            if auto_cleanup is not none %}
        {% if not dry_run %}
            {% do dbt_cdc._ensure_state_tables('tracking') %}
            {% do dbt_cdc._enter_database() %}
            {% do dbt_cdc._update_state('change_tracking_databases', {
                'is_auto_cleanup_on': settings.is_auto_cleanup_on | lower,
                'retention_period': settings.retention_period,
                'retention_period_units': settings.retention_period_units,
                'retention_period_units_desc': dbt_cdc._literal(settings.retention_period_units_desc),
            }, 'true') %}
        {% endif %}
        {% do dbt_cdc._print_rows([settings]) %}
    {% endif %}
{% endmacro %}


{#- '2 days' -> its columns in change_tracking_databases. -#}
{% macro _checked_retention(change_retention) %}
    {% set units = {'MINUTES': 1, 'HOURS': 2, 'DAYS': 3} %}
    {% set minutes = {'minute': 1, 'hour': 60, 'day': 1440} %}
    {% set found = modules.re.match(
        '^\\s*(\\d+)\\s*(minute|hour|day)s?\\s*$', change_retention | string | lower) %}
    {% do dbt_cdc.raise_cdc_error(
        22963, "change_retention is '" ~ change_retention ~ "'",
        "give a whole number from 1 and minutes, hours or days, e.g. '2 days', up to '"
        ~ dbt_cdc._most_minutes() ~ " minutes'"
    ) if not found or found[1] | int < 1 or found[1] | int * minutes[found[2]] > dbt_cdc._most_minutes() %}
    {% set unit = found[2] | upper ~ 'S' %}
    {% do return({
        'retention_period': found[1] | int, 'retention_period_units': units[unit],
        'retention_period_units_desc': unit,
    }) %}
{% endmacro %}


{#- The row of change_tracking_databases, or before the first tracked table SQL Server's defaults.
    -#}
{% macro _tracking_settings() %}
    {% for row in (dbt_cdc._fetch(
        'select * from ' ~ dbt_cdc._state_relation('change_tracking_databases') ~ ' limit 1'
    ) if dbt_cdc._has_state('change_tracking_databases') else []) %}
        {% do return(dict(
            row, retention_period=row.retention_period | int,
            retention_period_units=row.retention_period_units | int,
            invalid_cleanup_version=row.invalid_cleanup_version | int,
            hardened_cleanup_version=row.hardened_cleanup_version | int
        )) %}
    {% endfor %}
    {% do return({
        'database_id': 0, 'is_auto_cleanup_on': true, 'retention_period': 2,
        'retention_period_units': 3, 'retention_period_units_desc': 'DAYS',
        'invalid_cleanup_version': 0, 'hardened_cleanup_version': 0,
    }) %}
{% endmacro %}
