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
        {% do state.intervals.update({row.capture_instance | lower: row}) if row.capture_instance %}
        {% do state.update(
            high_end=[state.high_end or '', row.high_end or ''] | max or none,
            scanned_lsn=[state.scanned_lsn, row.get('scanned_lsn') or row.high_end or ''] | max
        ) %}
    {% endfor %}
    {#- a first publication that died had shown its versions; the view, which names its instances, has not moved -#}
    {% do state.update(
        scanned_lsn=[state.scanned_lsn, dbt_cdc._tracking_state().scanned_lsn] | max)
        if not state.high_end and is_own and not (state.intervals and load_cached_relation(view) is not none) %}
    {% do return(state) %}
{% endmacro %}


{#- Where the view is lost, rows tell that an instance was published, if lsn_time_mapping has all of their commits: a
    backfill that was captured alone has them not. One without rows is new once more: that costs a look at the log, and
    repeats nothing. -#}
{% macro _has_published_rows(interval) %}
    {% set relation = dbt_cdc._change_table_of(interval.capture_instance) %}
    {% do return(load_cached_relation(relation) is not none and dbt_cdc._fetch(
        'select count(*) > 0 and count_if(mapping.start_lsn is null and `__$start_lsn` >= ' ~ "'" ~ interval.low_end
        ~ "') = 0 as is_published from " ~ relation ~ ' left join ' ~ dbt_cdc._state_relation('lsn_time_mapping')
        ~ " as mapping on `__$start_lsn` = mapping.start_lsn where `__$start_lsn` <= '" ~ (interval.high_end or '')
        ~ "'")[0].is_published) %}
{% endmacro %}


{#- The instances that were part of the last publication. -#}
{% macro _published_instances(state) %}
    {% set published = state.intervals.values() | selectattr('high_end') %}
    {% do return(published | map(attribute='capture_instance') | map('lower') | list) %}
{% endmacro %}


{#- All instances and the common high end, which lies at or after `floor_lsn`. -#}
{% macro _intervals_sql(floor_lsn) -%}
    select
        instances.capture_instance,
        instances.start_lsn as low_end,
        instances.lost_lsn,
        instances.end_lsn,
        mapping.high_end,
        cast(mapping.high_time as string) as high_time
    from {{ dbt_cdc._state_relation('change_tables') }} as instances
    cross join (
        select max(start_lsn) as high_end, {{ dbt_cdc._last_time_sql('tran_end_time') }} as high_time
        from {{ dbt_cdc._state_relation('lsn_time_mapping') }}
        where start_lsn >= '{{ floor_lsn }}'
    ) as mapping
    order by instances.capture_instance
{%- endmacro %}
