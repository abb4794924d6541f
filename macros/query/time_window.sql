{#- What a query by time needs to know, its arguments checked: a query window of the LSNs whose commit
    times lie in it, found while the query compiles, so that files are skipped. -#}
{% macro _time_window(
    function, capture_instance, start_time, end_time, row_filter_option, closed_high_end_point,
    column_list, update_flag_list
) %}
    {% set window = dbt_cdc._new_window(function, capture_instance) %}
    {% do return(window) if not execute %}
    {% set instance = window.instance %}
    {% set start_time = dbt_cdc._normalize_time(start_time, function ~ ': start_time') %}
    {% set end_time = dbt_cdc._normalize_time(end_time, function ~ ': end_time') %}
    {% do window.update(
        option=dbt_cdc._row_filter_option(window, row_filter_option),
        by_time=true,
        start_time=dbt_cdc._time_literal(start_time),
        end_time=dbt_cdc._time_literal(end_time),
        is_closed=dbt_cdc._as_boolean(function ~ ': closed_high_end_point', closed_high_end_point) | lower,
        listed_columns=dbt_cdc._listed_columns(instance, column_list, 22918),
        flagged_columns=dbt_cdc._listed_columns(instance, update_flag_list or [], 22919)
    ) %}
    {% do window.update(dbt_cdc._lsns_of_times(window)) %}
    {% do return(window) %}
{% endmacro %}


{#- The captured columns of a list, as they are spelled: none gives all; a text separates by commas, as
    in SQL Server. -#}
{% macro _listed_columns(instance, names, number) %}
    {% do return(instance.columns | map(attribute='name') | list) if names is none %}
    {% set listed = [] %}
    {% for name in dbt_cdc._split_columns(names, 'column_list' if number == 22918 else 'update_flag_list') %}
        {% set ordinal = dbt_cdc._captured_ordinal(instance, name, number) %}
        {% do listed.append(instance.columns[ordinal - 1].name) %}
    {% endfor %}
    {% do return(listed) %}
{% endmacro %}


{#- The first and the last LSN of the window, as SQL; where commit times do not increase with the LSNs,
    the commits between them that belong to it. A window without commits has no rows. -#}
{% macro _lsns_of_times(window) %}
    {% set interval = dbt_cdc._published_state(window.mapping).intervals.get(window.capture_instance | lower) %}
    {% set found = {} %}
    {% if interval and interval.high_end %}
        {% set found = dbt_cdc._fetch(
            dbt_cdc._lsns_of_times_sql(window, interval.low_end, interval.high_end)
        )[0] %}
    {% endif %}
    {% set from_lsn = found.from_lsn or '0x' ~ 'F' * 20 %}
    {% set to_lsn = found.to_lsn or dbt_cdc._zero_lsn() %}
    {% do return({
        'from_lsn': "'" ~ from_lsn ~ "'",
        'to_lsn': "'" ~ to_lsn ~ "'",
        'found_up_to': dbt_cdc._time_literal(
            interval.high_time if interval and interval.high_end else '0001-01-01 00:00:00'),
        'commits': dbt_cdc._commits_of_times(
            window, "mapping.start_lsn >= '" ~ from_lsn ~ "' and mapping.start_lsn <= '" ~ to_lsn ~ "'"
        ) if found.others else none,
    }) %}
{% endmacro %}


{% macro _lsns_of_times_sql(window, low_end, high_end) -%}
    with entries as (
        select
            start_lsn,
            {{ dbt_cdc._indent(dbt_cdc._is_in_times(window), 8) }} as is_inside
        from {{ window.mapping }} as mapping
        where start_lsn >= '{{ low_end }}' and start_lsn <= '{{ high_end }}'
    ),

    ends as (
        select min(start_lsn) as from_lsn, max(start_lsn) as to_lsn from entries where is_inside
    )

    select
        from_lsn,
        to_lsn,
        (
            select count(*) from entries
            where is_inside is not true and start_lsn > from_lsn and start_lsn < to_lsn
        ) as others
    from ends
{%- endmacro %}


{#- The commits of a window by time within bounds given as SQL. -#}
{% macro _commits_of_times(window, bounds) -%}
    select mapping.start_lsn
    from {{ window.mapping }} as mapping
    where
        {{ bounds }}
        and {{ dbt_cdc._indent(dbt_cdc._is_in_times(window), 4) }}
{%- endmacro %}


{% macro _is_in_times(window) -%}
    ({{ window.start_time }} is null or mapping.tran_end_time > {{ window.start_time }})
    and (
        {{ window.end_time }} is null
        or mapping.tran_end_time < {{ window.end_time }}
        or {{ window.is_closed }} and mapping.tran_end_time = {{ window.end_time }}
    )
{%- endmacro %}
