{#- The instances that this window's publication is the first of. -#}
{% macro _new_instances(window) %}
    {% set new = [] %}
    {% for name, instance in dbt_cdc._capture_instances().items() if name not in window.published %}
        {% do new.append(instance) %}
    {% endfor %}
    {% do return(new) %}
{% endmacro %}


{#- Before a new instance is published: its row in the view, with no high end, and then its
    functions, which raise until it has one. A killed run does both again. -#}
{% macro _announce_new_instances(window) %}
    {% set new = dbt_cdc._new_instances(window) %}
    {% if new %}
        {% set state = dbt_cdc._published_state() if load_cached_relation(dbt_cdc._validity_intervals()) is not none
            else window.state %}
        {% set intervals = [] %}
        {% for row in dbt_cdc._fetch(dbt_cdc._intervals_sql(dbt_cdc._zero_lsn())) %}
            {% do intervals.append(state.intervals.get(
                row.capture_instance | lower, dict(row, high_end=none, high_time=none)
            )) %}
        {% endfor %}
        {% do run_query(dbt_cdc._replace_view_sql(intervals, state.scanned_lsn, state.high_end)) %}
        {% do dbt_cdc._remember(dbt_cdc._validity_intervals()) %}
        {% do dbt_cdc._create_functions(new) if var('cdc_persistent_functions', true)
            else dbt_cdc._grant_to_roles(new) %}
    {% endif %}
{% endmacro %}


{#- Replaces the view from the tables, and again until it shows what they hold: a cleanup or another
    run may have moved them in between. `state` is what is published, `rows` what the tables hold, where
    that was just read. An instance has a high end once it has captured what is published: it had one before, or is
    among the `captured`. -#}
{% macro _publish_validity_intervals(scanned_lsn, state=none, rows=none, captured=[], attempts=5) %}
    {% set state = state or dbt_cdc._published_state() %}
    {% set read = dbt_cdc._intervals_sql(state.high_end or dbt_cdc._zero_lsn()) %}
    {% set rows = dbt_cdc._fetch(read) if rows is none else rows %}
    {% if rows and attempts %}
        {% set last_lsn = [scanned_lsn, state.scanned_lsn, rows[0].high_end or ''] | max %}
        {% set intervals = dbt_cdc._with_times(rows, state, captured) %}
        {% set found = dbt_cdc._write_and_fetch(
            dbt_cdc._replace_view_sql(intervals, last_lsn, rows[0].high_end), read) %}
        {% do dbt_cdc._remember(dbt_cdc._validity_intervals()) %}
        {#- for the consumers that come after it -#}
        {% do dbt_cdc._invocation_cache().update(published_intervals=dict(zip(
            intervals | map(attribute='capture_instance') | map('lower'), intervals))) %}
        {% if found != rows %}
            {% do return(dbt_cdc._publish_validity_intervals(
                scanned_lsn, none, found, captured, attempts - 1)) %}
        {% endif %}
    {% elif rows %}
        {% do dbt_cdc._log_line(
            'other commands keep moving what is published; ' ~ dbt_cdc._validity_intervals()
            ~ ' shows the rest with the next one') %}
    {% endif %}
    {% do dbt_cdc._grant_to_all_roles([('select', dbt_cdc._validity_intervals())]) %}
{% endmacro %}


{#- Neither end ever moves back: a run that others have overtaken leaves their view as it is, and reads
    again what the tables hold. -#}
{% macro _replace_view_sql(intervals, scanned_lsn, high_end) -%}
    {%- set low_ends = {} -%}
    {%- for interval in intervals -%}
        {%- do low_ends.update({interval.capture_instance: dbt_cdc._literal(interval.low_end)}) -%}
    {%- endfor -%}
    {%- set is_further -%}
scanned_lsn > '{{ scanned_lsn }}'
or high_end > '{{ high_end or '' }}'
        {%- if intervals %}
or low_end > {{ dbt_cdc._indent(dbt_cdc._case_of('capture_instance', low_ends), 4) }}
        {%- endif %}
    {%- endset -%}
{{ dbt_cdc._unless_overtaken(
    dbt_cdc._validity_intervals(), is_further, dbt_cdc._validity_intervals_sql(intervals, scanned_lsn)) }}
{%- endmacro %}


{% macro _validity_intervals_sql(intervals, scanned_lsn) -%}
    create or replace view {{ dbt_cdc._validity_intervals() }} as
    select * from values
        {%- for interval in intervals %}
        (
            {{- dbt_cdc._literal(interval.capture_instance) }}, '{{ interval.low_end }}',
            {{- dbt_cdc._literal(interval.high_end) }}, '{{ scanned_lsn }}',
            {{- ' ' ~ dbt_cdc._time_literal(interval.low_time) }},
            {{- ' ' ~ dbt_cdc._time_literal(interval.high_time) }})
        {{- ',' if not loop.last }}
        {%- endfor %}
        {%- if not intervals %}
        (cast(null as string), cast(null as string), cast(null as string), '{{ scanned_lsn }}',
            cast(null as timestamp), cast(null as timestamp))
        {%- endif %}
        as intervals (capture_instance, low_end, high_end, scanned_lsn, low_time, high_time)
{%- endmacro %}
