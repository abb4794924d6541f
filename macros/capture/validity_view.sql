{#- The view of what is published. -#}

{#- The ends, which many instances share, are literals beside the names: a Hive metastore in Derby keeps 32,700
    characters of a view. -#}
{% macro _validity_intervals_sql(intervals, scanned_lsn) -%}
    {%- set lows, highs, rows = [], [], [] -%}
    {%- for interval in intervals or [{}] -%}
        {%- set ends = [] -%}
        {%- for end, all in [('low', lows), ('high', highs)] -%}
            {%- set literals = dbt_cdc._end_literals(interval.get(end ~ '_end'), interval.get(end ~ '_time')) -%}
            {%- do all.append(literals) if literals not in all -%}
            {%- do ends.append(all.index(literals)) -%}
        {%- endfor -%}
        {%- do rows.append('(' ~ (dbt_cdc._literal(interval.capture_instance) if intervals else 'cast(null as string)')
            ~ ', ' ~ ends | join(', ') ~ ')') -%}
    {%- endfor -%}
    {%- set query -%}
    select
        capture_instance,
        lows[low].lsn as low_end,
        highs[high].lsn as high_end,
        '{{ scanned_lsn }}' as scanned_lsn,
        lows[low].time as low_time,
        highs[high].time as high_time
    from (
        select
            *,
            array({{ lows | join(', ') }}) as lows,
            array({{ highs | join(', ') }}) as highs
        from values {{ rows | join(', ') }} as intervals (capture_instance, low, high)
    )
    {%- endset -%}
    {%- do dbt_cdc._check_holds_view(query, rows | length ~ ' capture instances') if query | length > 32000 -%}
    create or replace view {{ dbt_cdc._validity_intervals() }} as
    {{ query }}
{%- endmacro %}


{% macro _end_literals(lsn, time) %}
    {% do return('struct(cast(' ~ dbt_cdc._literal(lsn) ~ ' as string) as lsn, ' ~ dbt_cdc._time_literal(time)
        ~ ' as time)') %}
{% endmacro %}


{% macro _check_holds_view(query, tables) %}
    {% set setting = 'spark.hadoop.javax.jdo.option.ConnectionURL' %}
    {% do dbt_cdc.raise_cdc_error(
        22938, tables ~ ' make a view of ' ~ query | length ~ ' characters, and the metastore of the '
        ~ 'embedded target, Derby, keeps 32,700',
        'give its profile another metastore (' ~ setting ~ '), use a Spark server, or fewer tables in one '
        ~ 'schema; what is captured is published then'
    ) if target.type != 'databricks'
        and 'derby.system.home' in dbt_cdc._session_setting('spark.driver.extraJavaOptions')
        and 'jdbc:' not in dbt_cdc._session_setting(setting) | replace('jdbc:derby', '') %}
{% endmacro %}
