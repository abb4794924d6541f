{#- What is published: {scanned_lsn, high_end, intervals: {name: {low_end, high_end, low_time,
    high_time}}}. Read from literals of a view, so it costs no job; where somebody dropped the view,
    from the tables. `mapping`: the lsn_time_mapping beside that view, by default the target's. -#}
{% macro _published_state(mapping=none) %}
    {% set own = dbt_cdc._state_relation('lsn_time_mapping') %}
    {% set is_own = not mapping or mapping | string == own | string %}
    {% set view = dbt_cdc._validity_intervals(mapping) %}
    {% set state = {'scanned_lsn': dbt_cdc._zero_lsn(), 'high_end': none, 'intervals': {}} %}
    {% if load_cached_relation(view) is not none %}
        {% set rows = dbt_cdc._fetch(
            'select capture_instance, low_end, high_end, scanned_lsn, cast(low_time as string) as '
            ~ 'low_time, cast(high_time as string) as high_time from ' ~ view
        ) %}
    {% elif is_own and load_cached_relation(own) is not none %}
        {% set rows = dbt_cdc._fetch(dbt_cdc._intervals_sql(dbt_cdc._zero_lsn())) %}
        {% for row in rows if not dbt_cdc._has_published_rows(row) %}
            {% do row.update(high_end=none, high_time=none) %}
        {% endfor %}
    {% endif %}
    {% for row in rows or [] %}
        {% if row.capture_instance %}
            {% do state.intervals.update({row.capture_instance | lower: row}) %}
        {% endif %}
        {% do state.update(
            high_end=[state.high_end or '', row.high_end or ''] | max or none,
            scanned_lsn=[state.scanned_lsn, row.get('scanned_lsn') or row.high_end or ''] | max
        ) %}
    {% endfor %}
    {% if not state.high_end and is_own %}
        {% do state.update(
            scanned_lsn=[state.scanned_lsn, dbt_cdc._tracking_state().scanned_lsn] | max) %}
    {% endif %}
    {% do return(state) %}
{% endmacro %}


{#- Where the view is lost, rows tell that an instance was published. One without rows is new once more: that costs a
    look at the log, and repeats nothing. -#}
{% macro _has_published_rows(interval) %}
    {% set relation = dbt_cdc._change_table_of(interval.capture_instance) %}
    {% do return(load_cached_relation(relation) is not none and dbt_cdc._fetch(
        'select 1 from ' ~ relation ~ " where `__$start_lsn` <= '" ~ (interval.high_end or '') ~ "' limit 1")) %}
{% endmacro %}


{#- The instances that were part of the last publication. -#}
{% macro _published_instances(state) %}
    {% set published = state.intervals.values() | selectattr('high_end') %}
    {% do return(published | map(attribute='capture_instance') | map('lower') | list) %}
{% endmacro %}


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
        {% do adapter.cache_added(dbt_cdc._validity_intervals()) %}
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
        {% do adapter.cache_added(dbt_cdc._validity_intervals()) %}
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
    {%- set is_further -%}
scanned_lsn > '{{ scanned_lsn }}'
or high_end > '{{ high_end or '' }}'
        {%- if intervals %}
or low_end > {{ dbt_cdc._indent(dbt_cdc._low_end_of(intervals), 4) }}
        {%- endif %}
    {%- endset -%}
{{ dbt_cdc._unless_overtaken(
    dbt_cdc._validity_intervals(), is_further, dbt_cdc._validity_intervals_sql(intervals, scanned_lsn)) }}
{%- endmacro %}


{% macro _low_end_of(intervals) -%}
    {%- set low_ends = {} -%}
    {%- for interval in intervals -%}
        {%- do low_ends.update({interval.capture_instance: dbt_cdc._literal(interval.low_end)}) -%}
    {%- endfor -%}
    {{ dbt_cdc._case_of('capture_instance', low_ends) }}
{%- endmacro %}


{#- All instances and the common high end, which lies at or after `floor_lsn`. -#}
{% macro _intervals_sql(floor_lsn) -%}
    select
        instances.capture_instance,
        instances.start_lsn as low_end,
        instances.end_lsn,
        mapping.high_end,
        cast(mapping.high_time as string) as high_time
    from {{ dbt_cdc._state_relation('change_tables') }} as instances
    cross join (
        select max(start_lsn) as high_end, max(tran_end_time) as high_time
        from {{ dbt_cdc._state_relation('lsn_time_mapping') }}
        where start_lsn >= '{{ floor_lsn }}'
    ) as mapping
    order by instances.capture_instance
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
