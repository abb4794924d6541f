{#- The check of a window against the published bounds: a relation that is always empty, or the error. The bounds are
    literals of a view, so the check is decided while the query is planned and costs nothing when it runs
    (docs/decisions/0002). -#}
{% macro _validity_guard(window) -%}
    {%- if flags.EMPTY and load_cached_relation(dbt_cdc._validity_intervals(window.mapping)) is none -%}
    (select cast(null as string) as checked)
    where false
    {%- else -%}
    (
        select
            case
                when high_end is null then raise_error({{ dbt_cdc._literal(
                    dbt_cdc._unpublished_text(window.capture_instance)) }})
                {%- if window.option_sql %}
                {{ dbt_cdc._indent(dbt_cdc._argument_checks(window), 12) }}
                {%- endif %}
                {{ dbt_cdc._indent(
                    dbt_cdc._time_checks(window) if window.by_time else dbt_cdc._lsn_checks(window), 12) }}
                else cast(null as string)
            end as checked
        from {{ dbt_cdc._validity_intervals(window.mapping) }}
        where lower(capture_instance) = {{ dbt_cdc._literal(window.capture_instance | lower) }}
    )
    where checked is not null
    {%- endif -%}
{%- endmacro %}


{#- What a query begins with: a LIMIT takes no row before the check. -#}
{% macro _guard_first(columns, window) -%}
    select
        {{ columns.checked | join(',\n        ') }}
    from {{ dbt_cdc._validity_guard(window) }}
    union all
{%- endmacro %}


{#- A column of the guard's row that never comes. It is the check itself: a filter that Spark moves below the rest of a
    query would drop a row of NULLs before it is checked. -#}
{% macro _checked_column(name, data_type) -%}
    {{ 'checked' if data_type == 'string' else 'cast(checked as ' ~ data_type ~ ')' }} as {{ dbt_cdc._column(name) }}
{%- endmacro %}


{% macro _unpublished_text(capture_instance) %}
    {% do return(dbt_cdc._error_text(
        313, 'nothing is published yet for capture instance ' ~ capture_instance,
        'dbt run --select +lsn_time_mapping captures and publishes, once the log holds a commit'
    )) %}
{% endmacro %}


{% macro _lsn_checks(window) -%}
    {{ dbt_cdc._low_end_check(window) }}
    when {{ window.to_lsn }} > high_end then raise_error(concat(
        'CDC 313: to_lsn ', {{ window.to_lsn }}, ' is above the high end ', high_end,
        {{ dbt_cdc._literal(' of capture instance ' ~ window.capture_instance
            ~ dbt_cdc._advice('it is not published yet; end at or before the high end '
            ~ '(validity_intervals has it, also of an instance that has ended), or run dbt first')) }}))
{%- endmacro %}


{% macro _low_end_check(window) -%}
    when {{ window.from_lsn }} < low_end then raise_error(concat(
        'CDC 313: from_lsn ', {{ window.from_lsn }}, ' is below the low end ', low_end,
        {{ dbt_cdc._literal(' of capture instance ' ~ window.capture_instance
            ~ dbt_cdc._advice('older changes were removed or never captured; start at or after the low '
            ~ 'end (get_min_lsn), or load the table anew')) }}))
{%- endmacro %}


{#- LSNs that a macro has found are checked too: the low end may have been raised since. -#}
{% macro _time_checks(window) -%}
    {%- set instance = ' of capture instance ' ~ window.capture_instance -%}
    when {{ window.start_time }} > {{ window.end_time }} then raise_error(concat(
        'CDC 313: start_time ', {{ window.start_time }}, ' is after end_time ', {{ window.end_time }},
        {{ dbt_cdc._literal(dbt_cdc._advice('give the earlier one first')) }}))
    when {{ window.end_time }} < low_time then raise_error(concat(
        'CDC 313: end_time ', {{ window.end_time }}, ' is before ', low_time,
        {{ dbt_cdc._literal(', the time of the low end' ~ instance
            ~ dbt_cdc._advice('older changes were removed or never captured; end at or after it, or load '
            ~ 'the table anew')) }}))
    when {{ window.start_time }} > high_time then raise_error(concat(
        'CDC 313: start_time ', {{ window.start_time }}, ' is after ', high_time,
        {{ dbt_cdc._literal(', the time of the high end' ~ instance
            ~ dbt_cdc._advice('later changes are not published yet; start at or before it, or run dbt '
            ~ 'first')) }}))
    when {{ window.start_time }} < low_time then raise_error(concat(
        'CDC 313: start_time ', {{ window.start_time }}, ' is before ', low_time,
        {{ dbt_cdc._literal(', the time of the low end' ~ instance
            ~ dbt_cdc._advice('older changes were removed or never captured; start at or after it, or '
            ~ 'give NULL to start at the low end')) }}))
    {#- a view keeps the LSNs of when it was made -#}
    {%- set high_time = 'high_time' if window.option_sql else 'least(high_time, ' ~ window.found_up_to ~ ')' %}
    when {{ window.end_time }} > {{ high_time }} then raise_error(concat(
        'CDC 313: end_time ', {{ window.end_time }}, ' is after ', {{ high_time }},
        {{ dbt_cdc._literal(', the time of the high end' ~ instance
            ~ dbt_cdc._advice('later changes are not published yet; end at or before it, give NULL to '
            ~ 'end at the high end, or run dbt first')) }}))
    {%- if not window.option_sql %}
    {{ dbt_cdc._low_end_check(window) }}
    {%- endif %}
{%- endmacro %}


{#- A table that was emptied last, and a new instance, have a low end above the high end. -#}
{% macro _reversed_advice() %}
    {% do return(
        'give the lower end first; get_min_lsn is above get_max_lsn where nothing was captured since the table was '
        ~ 'emptied or the instance began: the next captured change ends that'
    ) %}
{% endmacro %}


{#- What a macro checks while it compiles, a persistent function checks in its query. -#}
{% macro _argument_checks(window) -%}
    {%- for argument in ['from_lsn', 'to_lsn'] if not window.by_time %}
    when {{ argument }} is null then raise_error({{ dbt_cdc._literal(dbt_cdc._error_text(
        313, argument ~ ' is NULL', 'give an LSN: 0x and 20 hexadecimal digits')) }})
    when {{ window[argument] }} is null then raise_error(concat(
        'CDC 313: {{ argument }} \'', {{ argument }},
        {{ dbt_cdc._literal("' is not an LSN" ~ dbt_cdc._advice('give 0x and 20 hexadecimal digits')) }}))
    {%- endfor %}
    when {{ window.option_sql }} is null or {{ window.option_sql }} not in (
        '{{ window.options | join("', '") }}') then raise_error(concat(
        'CDC 313: row_filter_option \'', coalesce(row_filter_option, 'NULL'),
        {{ dbt_cdc._literal("' is unknown" ~ dbt_cdc._advice("give '" ~ window.options | join("' or '") ~ "'")) }}))
    {%- if not window.by_time %}
    when {{ window.from_lsn }} > {{ window.to_lsn }} then raise_error(concat(
        'CDC 313: from_lsn ', {{ window.from_lsn }}, ' is above to_lsn ', {{ window.to_lsn }},
        {{ dbt_cdc._literal(dbt_cdc._advice(dbt_cdc._reversed_advice())) }}))
    {%- endif %}
{%- endmacro %}
