{#- What is published: {scanned_lsn, high_end, intervals: {name: {low_end, high_end}}}. Read from
    literals of a view, so it costs no job; where the view is missing, from the tables. -#}
{% macro _published_state() %}
    {% set view = dbt_cdc._validity_intervals() %}
    {% set state = {'scanned_lsn': dbt_cdc._zero_lsn(), 'high_end': none, 'intervals': {}} %}
    {% if load_cached_relation(view) is not none %}
        {% for row in dbt_cdc._fetch('select * from ' ~ view) %}
            {% do state.update(scanned_lsn=row.scanned_lsn, high_end=row.high_end) %}
            {% do state.intervals.update({row.capture_instance | lower: row}) %}
        {% endfor %}
    {% elif load_cached_relation(dbt_cdc._state_relation('lsn_time_mapping')) is not none %}
        {% set mapping = dbt_cdc._state_relation('lsn_time_mapping') %}
        {% set lsn = dbt_cdc._fetch('select max(start_lsn) as lsn from ' ~ mapping)[0].lsn %}
        {% if lsn %}
            {% do state.update(scanned_lsn=lsn, high_end=lsn) %}
        {% endif %}
    {% endif %}
    {% do return(state) %}
{% endmacro %}


{#- Replaces the view from the tables, and again until it shows what they hold: a cleanup or another
    run may have moved them in between, and neither end ever moves back. -#}
{% macro _publish_validity_intervals(scanned_lsn) %}
    {% set shown = [none] %}
    {% for attempt in range(5) %}
        {% set intervals = dbt_cdc._fetch(dbt_cdc._intervals_sql()) %}
        {% if intervals != shown[-1] %}
            {% set scanned = [
                scanned_lsn, dbt_cdc._published_state().scanned_lsn, intervals[0].high_end or ''
            ] | max %}
            {% do run_query(dbt_cdc._validity_intervals_sql(intervals, scanned)) %}
            {% do adapter.cache_added(dbt_cdc._validity_intervals()) %}
            {% do shown.append(intervals) %}
        {% endif %}
    {% endfor %}
{% endmacro %}


{% macro _intervals_sql() -%}
    {%- set captured = dbt_cdc._capture_instances().keys() | list -%}
    select
        instances.capture_instance,
        instances.start_lsn as low_end,
        mapping.high_end
    from {{ dbt_cdc._state_relation('change_tables') }} as instances
    cross join (
        select max(start_lsn) as high_end from {{ dbt_cdc._state_relation('lsn_time_mapping') }}
        where start_lsn >= '{{ dbt_cdc._published_state().high_end or dbt_cdc._zero_lsn() }}'
    ) as mapping
    order by instances.capture_instance
{%- endmacro %}


{% macro _validity_intervals_sql(intervals, scanned_lsn) -%}
    create or replace view {{ dbt_cdc._validity_intervals() }} as
    select * from values
        {%- for interval in intervals %}
        (
            {{- dbt_cdc._literal(interval.capture_instance) }}, '{{ interval.low_end }}',
            {{- dbt_cdc._literal(interval.high_end) }}, '{{ scanned_lsn }}')
        {{- ',' if not loop.last }}
        {%- endfor %}
        as intervals (capture_instance, low_end, high_end, scanned_lsn)
{%- endmacro %}
