{#- `from ... where ...`: the rows of a change table in the window. A window by time may name the commits
    that it takes, when no LSNs do. -#}
{% macro _window_rows(window) -%}
    from {{ window.relation }}
    {%- if window.commits %}
    left semi join (
        {{ dbt_cdc._indent(window.commits, 4) }}
    ) as commits
        on `__$start_lsn` = commits.start_lsn
    {%- endif %}
    where
        `__$start_lsn` >= {{ window.from_lsn }}
        and `__$start_lsn` <= {{ window.to_lsn }}
{%- endmacro %}


{#- A query of changes, each with the time of its commit as `__$commit_time` where that is wanted: one
    join with the window's part of lsn_time_mapping. -#}
{% macro _with_commit_time(changes, window, is_wanted=true) -%}
    {%- if dbt_cdc._as_boolean('with_commit_time', is_wanted) -%}
    select
        changes.*,
        mapping.tran_end_time as `__$commit_time`
    from (
        {{ dbt_cdc._indent(changes, 4) }}
    ) as changes
    left join (
        select
            start_lsn,
            tran_end_time
        from {{ window.mapping }}
        where
            start_lsn >= {{ window.from_lsn }}
            and start_lsn <= {{ window.to_lsn }}
    ) as mapping
        on changes.`__$start_lsn` = mapping.start_lsn
    {%- else -%}
    {{ changes }}
    {%- endif -%}
{%- endmacro %}
