{#- Settings of a session that lose or alter what a run reads or writes, and nothing of the run shows it. Asked once
    in a command. -#}
{% macro _check_session_settings() %}
    {% set cache = dbt_cdc._invocation_cache() %}
    {% if 'has_settings' not in cache and target.type == 'spark' %}
        {% do cache.update(has_settings=true) %}
        {% set given = {} %}
        {% for row in dbt_cdc._send_setting('set').rows %}
            {% do given.update({row[0]: row[1] | string | trim}) %}
        {% endfor %}
        {% for name, setting in dbt_cdc._refused_settings().items()
            if modules.re.fullmatch('(?i)' ~ setting.refused, given.get(name, '')) %}
            {% do dbt_cdc.raise_cdc_error(
                22859, "the session's " ~ name ~ ' is ' ~ given[name],
                'set it to ' ~ setting.valid ~ ' in the profile, of a Thrift server in its own configuration: '
                ~ setting.reason
            ) %}
        {% endfor %}
    {% endif %}
{% endmacro %}


{#- SET and RESET take a query comment behind them for a part of a value. -#}
{% macro _send_setting(statement) %}
    {% do return(run_query("execute immediate '" ~ statement ~ "'")) %}
{% endmacro %}


{% macro _session_setting(name) %}
    {% do return(dbt_cdc._send_setting('set ' ~ name).rows[0][1]) %}
{% endmacro %}


{#- `refused` is a pattern. -#}
{% macro _refused_settings() %}
    {% do return({
        'spark.sql.parquet.outputTimestampType': {
            'refused': 'timestamp_millis', 'valid': 'TIMESTAMP_MICROS', 'reason': 'times would lose microseconds',
        },
        'spark.databricks.delta.stalenessLimit': {
            'refused': '.*[1-9].*', 'valid': '0',
            'reason': 'a consumer would read a change table as it was, and pass over what was captured since',
        },
        'spark.databricks.delta.write.txnVersion': {
            'refused': '.+', 'valid': 'nothing', 'reason': 'Delta would pass over each write to a table but the first',
        },
        'spark.sql.files.ignoreMissingFiles': {
            'refused': 'true', 'valid': 'false', 'reason': 'the changes in a file that is gone would be missing',
        },
        'spark.sql.files.ignoreCorruptFiles': {
            'refused': 'true', 'valid': 'false', 'reason': 'the changes in a broken file would be missing',
        },
        'spark.sql.parser.quotedRegexColumnNames': {
            'refused': 'true', 'valid': 'false', 'reason': '`__$start_lsn` would be a pattern, not a name',
        },
        'spark.sql.legacy.json.allowEmptyString.enabled': {
            'refused': 'true', 'valid': 'false', 'reason': 'an empty text in the place of a number would be NULL',
        },
    }) %}
{% endmacro %}
