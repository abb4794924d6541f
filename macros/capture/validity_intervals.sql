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
        {% do run_query(dbt_cdc._replace_view_sql(intervals, state.scanned_lsn, state.high_end, state)) %}
        {% do dbt_cdc._remember(dbt_cdc._validity_intervals()) %}
        {% do dbt_cdc._create_functions(new) if dbt_cdc._switch_of_var('cdc_persistent_functions', true)
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
        {#- those who have captured this window have not captured what others have published behind it -#}
        {% set is_behind = [rows[0].high_end or '', state.scanned_lsn] | max > scanned_lsn %}
        {% set intervals = dbt_cdc._with_times(rows, state, [] if is_behind else captured) %}
        {% set found = dbt_cdc._write_and_fetch(
            dbt_cdc._replace_view_sql(intervals, last_lsn, rows[0].high_end, state),
            dbt_cdc._with_overtaken_sql(read, dbt_cdc._is_further(intervals, last_lsn, rows[0].high_end, state))) %}
        {% set is_overtaken = found and found[0].is_overtaken %}
        {% for row in found %}
            {% do row.pop('is_overtaken') %}
        {% endfor %}
        {% do dbt_cdc._remember(dbt_cdc._validity_intervals()) %}
        {#- for the consumers that come after it -#}
        {% do dbt_cdc._invocation_cache().update(published_intervals=dict(zip(
            intervals | map(attribute='capture_instance') | map('lower'), intervals))) %}
        {% do return(dbt_cdc._publish_validity_intervals(
            scanned_lsn, none, found, captured, attempts - 1))
            if found != rows or is_overtaken %}
    {% elif rows %}
        {% do dbt_cdc._log_line(
            'other commands keep moving what is published; ' ~ dbt_cdc._validity_intervals()
            ~ ' shows the rest with the next one') %}
    {% endif %}
    {% do dbt_cdc._grant_to_all_roles([('select', dbt_cdc._validity_intervals())]) %}
{% endmacro %}


{#- Where somebody has dropped the view. -#}
{% macro _publish_lost_view() %}
    {% if load_cached_relation(dbt_cdc._validity_intervals()) is none %}
        {% set state = dbt_cdc._published_state() %}
        {% do dbt_cdc._publish_validity_intervals(state.scanned_lsn, state) if state.intervals %}
    {% endif %}
{% endmacro %}


{#- Neither end ever moves back: a run that others have overtaken leaves their view as it is, and reads
    again what is published and what the tables hold. -#}
{% macro _replace_view_sql(intervals, scanned_lsn, high_end, state) -%}
{{ dbt_cdc._unless_overtaken(
    dbt_cdc._validity_intervals(), dbt_cdc._is_further(intervals, scanned_lsn, high_end, state),
    dbt_cdc._validity_intervals_sql(intervals, scanned_lsn)) }}
{%- endmacro %}


{#- Whether a row of the view is further than these, or its low end was raised since the `state` was read: its time is
    the view's then, for a cleanup has removed what told it. Also an instance that another checkout has published since
    and that this one does not know. One that ended has a high end of its own. -#}
{% macro _is_further(intervals, scanned_lsn, high_end, state) -%}
    {%- set low_ends, high_ends = {}, {} -%}
    {%- for interval in intervals -%}
        {%- set name = interval.capture_instance -%}
        {%- set known = state.intervals.get(name | lower, interval) -%}
        {%- do low_ends.update({name: dbt_cdc._literal([known.low_end, interval.low_end] | min)}) -%}
        {%- do high_ends.update({name: dbt_cdc._literal(
            (high_end if interval.end_lsn else interval.high_end) or '')}) -%}
    {%- endfor -%}
    {%- set known = (low_ends.keys() | map('lower') | list + state.intervals.keys() | list) | unique | list -%}
scanned_lsn > '{{ scanned_lsn }}'
    {%- if low_ends %}
or high_end > {{ dbt_cdc._indent(dbt_cdc._case_of('capture_instance', high_ends), 4) }}
or low_end > {{ dbt_cdc._indent(dbt_cdc._case_of('capture_instance', low_ends), 4) }}
    {%- endif %}
or high_end is not null {{ 'and lower(capture_instance) not in (' ~ dbt_cdc._literals(known) ~ ')' if known }}
{%- endmacro %}


{#- The rows of a query, each with whether the view is further: then this run has left it as it was. -#}
{% macro _with_overtaken_sql(read, is_further) -%}
    select
        *,
        (
            select count(*) > 0 from {{ dbt_cdc._validity_intervals() }}
            where
                {{ dbt_cdc._indent(is_further, 16) }}
        ) as is_overtaken
    from ({{ dbt_cdc._indent(read, 8) }})
{%- endmacro %}
