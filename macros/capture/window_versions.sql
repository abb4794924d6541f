{#- Versions: one for each committed transaction that has changed a tracked table, in commit order.
    A window's are counted from what was published before it and written down in scan_transactions,
    so they come out the same in every run that takes the window up. -#}

{#- {base, tables, emptied, published, returned}: the last version before the window; the tables that it
    tracks, by the names of their side tables; the commits that emptied them; what was published when the
    run began; the keys of those that were away before it. None without tracked tables. -#}
{% macro _window_versions(window) %}
    {% if not dbt_cdc._tracked_tables()
        or not dbt_cdc._has_state('change_tracking_tables') %}
        {% do return(none) %}
    {% endif %}
    {% set before = dbt_cdc._tracking_before(window.previous_lsn) %}
    {% set published, read, tables, returned = before.published, before.read, {}, [] %}
    {#- Also one that began with this window and has left the project since: what others have captured of the
        window has numbers that count it. -#}
    {% for name, row in read.tables.items() if row.begin_lsn <= window.previous_lsn %}
        {% if dbt_cdc._was_away(row, published, window.previous_lsn) %}
            {% do returned.append(row.key) %}
        {% elif name in dbt_cdc._tracked_tables() or row.key in published.min_valid_versions
            or row.begin_lsn == window.previous_lsn %}
            {% do tables.update({name: row}) %}
        {% endif %}
    {% endfor %}
    {% do return({
        'base': read.version, 'tables': tables, 'published': published, 'returned': returned,
        'emptied': dbt_cdc._emptying_commits(tables.values(), window, published) if tables else [],
    }) %}
{% endmacro %}


{#- Whether windows were published without an entered table: the scan lets it begin anew, and a command without the scan
    leaves it out until then. Where clients were never shown anything, there is no version behind its beginning. -#}
{% macro _was_away(registered, published, scanned_lsn) %}
    {% do return(registered.begin_lsn < scanned_lsn and (
        registered.key not in published.min_valid_versions or published.scanned_lsn < scanned_lsn
        if published.is_shown else published.scanned_lsn <= registered.begin_lsn)) %}
{% endmacro %}


{#- The window's transactions with their versions. -#}
{% macro _versions_sql(window) -%}
    {%- set versions = window.versions or {'base': 0, 'tables': {}, 'emptied': []} -%}
    select
        {{ versions.base }}L + row_number() over (order by commit_lsn) as commit_ts,
        tran_id as xdes_id,
        begin_lsn,
        commit_lsn,
        commit_time
    from {{ dbt_cdc._transactions_of(window) }}
    where
        window_to_lsn = '{{ window.to_lsn or dbt_cdc._zero_lsn() }}'
        and commit_lsn > '{{ window.previous_lsn }}'
        and (
            arrays_overlap(
                array_union(changed_tables, updated_tables),
                {{ dbt_cdc._indent(dbt_cdc._source_tables_sql(versions.tables.values()), 16) }}
            )
            {%- if versions.emptied %}
            or commit_lsn in ('{{ versions.emptied | map(attribute='commit_lsn') | join("', '") }}')
            {%- endif %}
        )
{%- endmacro %}


{#- The commits that removed or brought rows of tracked tables without a record of each: TRUNCATE, DROP, CREATE OR
    REPLACE TABLE, and the RENAME of a table that takes the name of one that is gone. -#}
{% macro _emptying_commits(tables, window, published) %}
    {% set changes = dbt_cdc._fetch(dbt_cdc._tracked_schema_changes_sql(tables, window)) %}
    {% set ddl = dbt_cdc._read_schema_changes(
        changes | selectattr('operation', 'eq', 'DDL') | list, window.log) %}
    {% do dbt_cdc._check_tracked_renames(ddl, published) %}
    {% do return((changes | selectattr('operation', 'eq', 'TRUNCATE') | list)
        + (ddl | selectattr('is_dropped') | list) + (ddl | selectattr('is_replaced') | list)
        + dbt_cdc._takings_of_names(ddl)) %}
{% endmacro %}


{#- The DDL records by which a table takes a name that was free, its rows with it. -#}
{% macro _takings_of_names(ddl) %}
    {% set takings = [] %}
    {% for change in ddl if dbt_cdc._old_name_of_table(change.ddl_command, change.source_name) %}
        {% set left = [] %}
        {% for other in ddl if other.commit_lsn == change.commit_lsn
            and dbt_cdc._source_of(other) == dbt_cdc._source_of(change)
            and dbt_cdc._new_name_of_table(other.ddl_command, other.source_name) %}
            {% do left.append(other) %}
        {% endfor %}
        {% do takings.append(change) if not left %}
    {% endfor %}
    {% do return(takings) %}
{% endmacro %}


{% macro _tracked_schema_changes_sql(tables, window) -%}
    select
        commit_lsn,
        change.lsn,
        change.operation,
        change.source_schema,
        change.source_name
    from {{ dbt_cdc._transactions_of(window) }}
        lateral view explode(schema_changes) changes as change
    where
        window_to_lsn = '{{ window.to_lsn }}'
        and commit_lsn is not null
        and array_contains(
            {{ dbt_cdc._indent(dbt_cdc._source_tables_sql(tables), 12) }},
            named_struct('source_schema', change.source_schema, 'source_name', change.source_name)
        )
{%- endmacro %}


{#- What a window's versions follow, read once in a command: what is `published`, and what the tables hold. -#}
{% macro _tracking_before(scanned_lsn) %}
    {% set cache = dbt_cdc._invocation_cache() %}
    {% if 'tracking_before' not in cache %}
        {% set published, read = dbt_cdc._tracking_state(), dbt_cdc._read_tracking(scanned_lsn) %}
        {% do dbt_cdc._check_knows_versions(published, read, scanned_lsn) %}
        {% do cache.setdefault('tracking_before', {'published': published, 'read': read}) %}
    {% endif %}
    {% do return(cache.tracking_before) %}
{% endmacro %}


{#- The last version is never cleaned. Where it is gone, versions that clients have would be given once more. -#}
{% macro _check_knows_versions(published, read, scanned_lsn) %}
    {% if published.is_shown and published.scanned_lsn <= scanned_lsn
        and read.version < (published.current_version or 0) %}
        {% set versions = dbt_cdc._state_relation('syscommittab') %}
        {% do dbt_cdc.raise_cdc_error(
            22906, 'table ' ~ versions ~ ' was taken back to version ' ~ read.version
            ~ ', and clients have been told of ' ~ published.current_version,
            'restore its last version (restore table ' ~ versions ~ ' to version as of ...), or '
            ~ 'disable_change_tracking of a table: it takes a version that is later than all'
        ) %}
    {% endif %}
{% endmacro %}
