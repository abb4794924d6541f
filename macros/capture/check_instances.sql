{#- What is checked of an instance when it is planned, beside what its YAML alone tells. -#}

{#- A change table with rows that change_tables does not know is of an earlier life, or the state is lost: its rows
    would stand for those of the window. Another run may have entered the instance meanwhile. -#}
{% macro _check_are_new(instances) %}
    {% set filled = dbt_cdc._with_rows(instances | map(attribute='relation') | list) %}
    {% for instance in instances if instance.relation | string in filled
        and instance.name | lower not in dbt_cdc._registered_if_any() %}
        {% do dbt_cdc.raise_cdc_error(
            22906, 'change table ' ~ instance.relation ~ ' has rows, and ' ~ dbt_cdc._state_relation('change_tables')
            ~ " has no capture instance '" ~ instance.name ~ "'",
            'put the state back (take back what was edited of its schema or the target; restore it); or drop the '
            ~ 'change table, to begin anew'
        ) %}
    {% endfor %}
{% endmacro %}


{#- An instance that ended because a run had no model of it does not go on by itself. Where no other one captures its
    table, and no DDL has ended it, that is an error. A rename of the table, whose record is before its commit, is the
    last DDL of an instance. -#}
{% macro _check_goes_on(instance, known) %}
    {% set registered, others = known[instance.name | lower], [] %}
    {% for name, other in dbt_cdc._capture_instances().items()
        if other.table == instance.table and not (known.get(name) or {}).get('end_lsn') %}
        {% do others.append(name) %}
    {% endfor %}
    {% set last = dbt_cdc._fetch('select max(ddl_lsn) as lsn, max_by(ddl_command, ddl_lsn) as command from '
        ~ dbt_cdc._state_relation('ddl_history') ~ ' where object_id = ' ~ registered.object_id)[0] if not others %}
    {% if not others and (last.lsn or '') < registered.end_lsn
        and not dbt_cdc._new_name_of_table(last.command, instance.source_name) %}
        {% do dbt_cdc.raise_cdc_error(
            22985, 'table ' ~ instance.table ~ " is not captured any more: capture instance '" ~ instance.name
            ~ "' ended before " ~ registered.end_lsn ~ ', when a run had no model of it',
            dbt_cdc._begin_anew_advice(registered, '') ~ ' (with capture_from: log_start it takes what the log still '
            ~ 'holds); its consumers start over. Or keep what it has beside a second instance (enable_table)'
        ) %}
    {% endif %}
{% endmacro %}


{#- One that was entered and is not published takes the log from its beginning on. -#}
{% macro _check_has_its_log(instance, window) %}
    {% do dbt_cdc._check_log_has(
        window.log, instance.registered.start_lsn,
        "capture instance '" ~ instance.name ~ "' begins, which is not published yet",
        '; or ' ~ dbt_cdc._begin_anew_advice(instance.registered)
    ) %}
{% endmacro %}


{#- Where an instance begins is fixed when it is entered, also where its YAML says something else before its first
    publication. What a publication that died has lost of it (`emptied_lsn`) is no edit. -#}
{% macro _check_capture_from(instance, plan, window) %}
    {% set registered = instance.registered %}
    {#- one that was entered with log_start has lost what is before the log -#}
    {% if plan.is_new and instance.capture_from == 'log_start' and registered.lost_lsn
        and registered.lost_lsn > (plan.emptied_lsn or '')
        and registered.lost_lsn == dbt_cdc.decrement_lsn(registered.start_lsn)
        and dbt_cdc._fetch('select 1 from ' ~ dbt_cdc._log_relation() ~ " where lsn < '" ~ registered.start_lsn
            ~ "' limit 1") %}
        {% do dbt_cdc.raise_cdc_error(
            22963, "capture instance '" ~ instance.name ~ "' was entered with capture_from: now and begins at "
            ~ registered.start_lsn ~ ', its YAML says log_start by now',
            'take the edit back, or ' ~ dbt_cdc._begin_anew_advice(registered)
        ) %}
    {% elif plan.is_new and instance.capture_from == 'now' and not registered.lost_lsn
        and window.previous_lsn != dbt_cdc._zero_lsn() %}
        {% do dbt_cdc._log_line(
            'capture instance ' ~ instance.name ~ " begins at the log's start, as when it was entered; to begin at "
            ~ "this window, as its YAML says, " ~ dbt_cdc._begin_anew_advice(registered)
        ) %}
    {% endif %}
{% endmacro %}
