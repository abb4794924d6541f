{#- The check of a baseline against what is published: a relation that is always empty, or the
    error. It reads literals of a view, so it is decided while the query is planned
    (docs/decisions/0002). -#}
{% macro _version_guard(tracked, last_sync_version, allow_stale) -%}
    {%- if tracked.is_unpublished -%}
    (select cast(null as string) as checked)
    where false
    {%- else -%}
    (
        select
            case
                when versions.min_valid_versions[{{ dbt_cdc._literal(tracked.key) }}] is null
                    then raise_error({{ dbt_cdc._literal(dbt_cdc._untracked_text(tracked)) }})
                when {{ allow_stale }} then cast(null as string)
                when {{ last_sync_version }} < versions.min_valid_versions[{{ dbt_cdc._literal(tracked.key) }}]
                    then raise_error(concat(
                        'CDC 313: last_sync_version ', {{ last_sync_version }},
                        ' is below the minimum valid version ',
                        versions.min_valid_versions[{{ dbt_cdc._literal(tracked.key) }}],
                        {{ dbt_cdc._literal(' of table ' ~ tracked.table ~ ': older changes were removed or '
                            ~ 'never tracked; load the table anew and go on from '
                            ~ 'change_tracking_current_version, here ') }},
                        versions.current_version, {{ dbt_cdc._literal(
                            ', or set allow_stale to get what is left' ~ dbt_cdc._error_page()) }}))
                when {{ last_sync_version }} > versions.current_version
                    then raise_error(concat(
                        'CDC 313: last_sync_version ', {{ last_sync_version }},
                        ' is above the current version ', versions.current_version,
                        {{ dbt_cdc._literal(' of table ' ~ tracked.table ~ dbt_cdc._advice('it is not of this '
                            ~ 'database, or of one that was restored since; load the table anew and go on '
                            ~ 'from the current version, or set allow_stale to get nothing')) }}))
                else cast(null as string)
            end as checked
        from {{ dbt_cdc._tracking_versions(tracked.mapping) }} as versions
    )
    where checked is not null
    {%- endif -%}
{%- endmacro %}


{% macro _untracked_text(tracked) %}
    {% do return(dbt_cdc._error_text(
        22105, 'nothing is published yet of the changes of table ' ~ tracked.table,
        'run dbt until the log holds a commit; a model that was away begins anew'
    )) %}
{% endmacro %}


{#- A published version as a scalar that Spark's planner replaces by its value. -#}
{% macro _published_version(name, tracked={}) -%}
    {%- if tracked.is_unpublished -%}
    {{ {'min_valid_version': '0L', 'current_version': '9223372036854775807L'}[name] }}
    {%- else -%}
    (select {{ 'min_valid_versions[' ~ dbt_cdc._literal(tracked.key) ~ ']'
        if name == 'min_valid_version' else name }} from {{ dbt_cdc._tracking_versions(tracked.mapping) }})
    {%- endif -%}
{%- endmacro %}


{#- Tells dbt while it parses that a model reads a side table; see _depend_on_instances. -#}
{% macro _depend_on_tracked_table(table) %}
    {% do ref('dbt_cdc', 'lsn_time_mapping') %}
    {% set name = dbt_cdc._side_table_of(table) %}
    {% do dbt_cdc._ref_of_project(name) if name in dbt_cdc._listed_models() %}
{% endmacro %}
