{#- Not the clock counts but the last commit time: where capture stalls, nothing more goes. A commit of a day that is
    still to come, as of a source whose clock was wrong, does not count where others have been. -#}
{% macro _retention_mark_sql(state, retention) -%}
    {%- set published = dbt_cdc._state_relation('lsn_time_mapping') ~ " where start_lsn <= '" ~ state.high_end ~ "'" -%}
    {%- set last_time = '(select ' ~ dbt_cdc._last_time_sql('tran_end_time') ~ ' from ' ~ published ~ ')' -%}
    select
        min(start_lsn) as lsn,
        (
            select cast(max(tran_end_time) as string) from {{ published }}
            and tran_end_time > {{ last_time }}
        ) as time_to_come
    from {{ dbt_cdc._commits_to_keep_sql(published, 'start_lsn', 'tran_end_time', last_time, retention) }}
{%- endmacro %}


{#- Those within the retention; one without a time is older than that where a later one is. -#}
{% macro _commits_to_keep_sql(commits, order, time, last_time, minutes) -%}
{%- set first_time = last_time ~ " - interval '" ~ minutes ~ "' minute" -%}
{{ commits }}
        and (
            {{ time }} <= {{ last_time }}
            and {{ time }} >= {{ first_time }}
            or {{ time }} is null
            and coalesce({{ order }} > (
                select max({{ order }}) from {{ commits }} and {{ time }} < {{ first_time }}
            ), true)
        )
{%- endmacro %}


{#- Clocks may differ by a day. -#}
{% macro _end_of_today() %}
    {% do return("current_timestamp() + interval '1' day") %}
{% endmacro %}


{#- The last time of commits, not one that is still to come where others have been. -#}
{% macro _last_time_sql(column) -%}
    coalesce(max({{ column }}) filter (where {{ column }} <= {{ dbt_cdc._end_of_today() }}), max({{ column }}))
{%- endmacro %}
