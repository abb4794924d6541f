{#- Run-operation (alter table ... disable change_tracking): drops the side table, the functions and
    the row in change_tracking_tables. A dry run only prints what it would do.
    Enabled again, the table begins anew. -#}
{% macro disable_change_tracking(source_schema, source_name, dry_run=false) %}
    {% if execute %}
        {% set dry_run = dbt_cdc._as_boolean('dry_run', dry_run) %}
        {% do dbt_cdc._check_enabled() %}
        {% do dbt_cdc._ensure_state_tables('tracking') if dbt_cdc._has_state('syscommittab') %}
        {% set table = source_schema ~ '.' ~ source_name %}
        {% set tables = dbt_cdc._read_tracking(dbt_cdc._zero_lsn()).tables
            if dbt_cdc._has_state('syscommittab') else {} %}
        {% set known = dbt_cdc._table_called(table, tables.values()) %}
        {% set tracked = known or dbt_cdc._table_called(table, dbt_cdc._tracked_tables().values()) %}
        {% set name = tracked.name if tracked else dbt_cdc._side_table_names(table)[0] %}
        {% set state = dbt_cdc._tracking_state() %}
        {% set is_half_gone = not known and table | lower in state.min_valid_versions %}
        {% if is_half_gone %}
            {% do log('an earlier one died: what it left goes', info=true) %}
        {% elif not known %}
            {% do dbt_cdc.raise_cdc_error(
                4998, 'change tracking is not enabled on table ' ~ table,
                'it is on ' ~ (tables.values() | map(attribute='table') | join(', ') or 'none')
            ) %}
        {% endif %}
        {#- what began with a window that stands open was neither counted nor told of; of what is half gone the earlier
            one has taken a version -#}
        {% set scanned_lsn = [dbt_cdc._published_state().scanned_lsn, state.scanned_lsn] | max %}
        {% set is_counted = known and known.begin_lsn <= scanned_lsn %}
        {% do dbt_cdc._check_not_counted(known, scanned_lsn) if is_counted %}
        {#- its row goes behind the table, and what clients are told last: a killed operation can be repeated, and no
            run makes the table anew under the old versions -#}
        {% set statements = [] %}
        {% for kind in ['changes', 'version'] if dbt_cdc._switch_of_var('cdc_persistent_functions', true) %}
            {% do statements.append('drop function if exists '
                ~ dbt_cdc._function_name('changetable_' ~ kind ~ '_' ~ name[16:])) %}
        {% endfor %}
        {% do statements.append('drop table if exists ' ~ known.relation) if known %}
        {% do statements.append('delete from ' ~ dbt_cdc._state_relation('change_tracking_tables')
            ~ ' where object_id = ' ~ known.object_id) if known %}
        {#- enabled again it begins at a later version than clients have -#}
        {% do dbt_cdc._take_a_version(scanned_lsn, state) if is_counted and not dry_run %}
        {% for statement in statements %}
            {% do run_query(dbt_cdc._in_turn(statement) if statement.startswith('delete') else statement)
                if not dry_run %}
            {% do log(('would run: ' if dry_run else 'done: ') ~ statement, info=true) %}
        {% endfor %}
        {% do dbt_cdc._forget_tracked_table(table | lower) if not dry_run %}
        {% if name in dbt_cdc._tracked_tables() %}
            {% do log('delete models/' ~ name ~ '.sql and its YAML, or the next run enables it again',
                info=true) %}
            {% do dbt_cdc._tell_agent_of_models() if not dry_run %}
        {% endif %}
        {% do log('nothing is changed: dry_run', info=true) if dry_run %}
    {% endif %}
{% endmacro %}


{#- The versions of a window that stands open count the table's transactions, and side tables of others may have
    them already: without it the rest of the window would be numbered anew. -#}
{% macro _check_not_counted(known, scanned_lsn) %}
    {% set to_lsn = dbt_cdc._fetch(
        'select min(window_to_lsn) as to_lsn from ' ~ dbt_cdc._state_relation('scan_transactions')
        ~ " where window_to_lsn > '" ~ scanned_lsn ~ "'"
    )[0].to_lsn if dbt_cdc._has_state('scan_transactions') else none %}
    {#- alone in its project, it is what no run can finish without -#}
    {% do dbt_cdc.raise_cdc_error(
        1222, 'change tracking of table ' ~ known.table ~ ' cannot be disabled while the window up to ' ~ to_lsn
        ~ ' stands open: its versions count the table', 'dbt run finishes it, then disable; where records of '
        ~ 'this table stop the run, delete models/' ~ known.name ~ '.sql and its YAML first'
    ) if to_lsn and dbt_cdc._participants().keys() | reject('equalto', known.name) | list %}
{% endmacro %}
