{#- What an error advises where an instance cannot follow its table. -#}

{#- The command that makes a second instance of the table as it is now, with what the first one has: what is
    left of its key, its role, its choice of columns; and before that what makes room for it. `renamed`: {old: new}, in
    lower case. -#}
{% macro _second_instance_advice(instance, renamed=none) %}
    {% set renamed, known = renamed or {}, dbt_cdc._registered_if_any() %}
    {% set going = dbt_cdc._one_to_disable(instance, known) %}
    {% set ddl = dbt_cdc._last_ddl(dbt_cdc._log_relation(), instance.source_schema, instance.source_name) %}
    {% set present = ddl.columns | map(attribute='name') | list if ddl else [] %}
    {% set captured, key, given = [], [], [] %}
    {% for column in instance.columns or [] %}
        {% do captured.append(renamed.get(column.name | lower, column.name | lower)) %}
    {% endfor %}
    {% set spelled = dict(zip(present | map('lower'), present)) %}
    {% for name in instance.index_columns %}
        {% set now = renamed.get(name | lower, name) %}
        {% do key.append(spelled.get(now | lower, now)) if not present or now | lower in spelled %}
    {% endfor %}
    {% set chosen = [] %}
    {% for name in present if name | lower in captured %}
        {% do chosen.append(name) %}
    {% endfor %}
    {% for name, value in {
        'source_schema': instance.source_schema, 'source_name': instance.source_name,
        'capture_instance': dbt_cdc._free_name(instance, known), 'index_columns': key,
        'index_name': instance.index_name if key, 'role_name': instance.role_name,
        'captured_column_list': chosen if chosen | length < present | length,
    }.items() if value %}
        {% do given.append(name ~ ': ' ~ (
            dbt_cdc._yaml_text(value) if value is string else dbt_cdc._yaml_list(value))) %}
    {% endfor %}
    {% do given.append('supports_net_changes: false') if key and instance.supports_net_changes is false %}
    {% do return(
        (dbt_cdc._disable_advice(going) if going else '')
        ~ 'make a second instance of it: python dbt_packages/dbt_cdc/scripts/enable_table.py '
        ~ dbt_cdc._shell_text('{' ~ given | join(', ') ~ '}')
        ~ ', which lists it in cdc_capture_instances of dbt_project.yml or prints the line to add, and run again: it '
        ~ 'takes over at that commit, '
        ~ ('the other' if going and going.capture_instance == instance.name else 'this') ~ ' one ends there and stays '
        ~ 'readable; until then this window is not published'
    ) %}
{% endmacro %}


{#- The instance's name with the first number that no other one has. -#}
{% macro _free_name(instance, known) %}
    {% set taken, free = [], [] %}
    {% for name in known.keys() | list + dbt_cdc._capture_instances().keys() | list %}
        {% do taken.append(dbt_cdc._object_name(name)) %}
    {% endfor %}
    {% for number in range(2, taken | length + 3)
        if dbt_cdc._object_name(instance.name | lower ~ '_' ~ number) not in taken %}
        {% do free.append(instance.name ~ '_' ~ number) %}
    {% endfor %}
    {% do return(free[0]) %}
{% endmacro %}


{#- Of the two instances that the table has, what is registered of the one that makes room for another, with `why`; none
    where there is room. From one that is stopped another takes over, so that one stays. -#}
{% macro _one_to_disable(instance, known) %}
    {% set plans, found = dbt_cdc._invocation_cache().get('plans', {}), [] %}
    {% for name, registered in known.items() if dbt_cdc._source_of(registered) == dbt_cdc._source_of(instance) %}
        {% set is_stopped = name == instance.name | lower or plans.get(name, {}).get('problem') %}
        {% do found.append(dict(
            registered, rank=0 if registered.end_lsn else 2 if is_stopped else 1,
            why='has ended' if registered.end_lsn else 'is the older of the two that stop here' if is_stopped
                else 'goes on')) %}
    {% endfor %}
    {% do return((found | sort(attribute='rank,start_lsn,capture_instance'))[0] if found | length > 1 else none) %}
{% endmacro %}


{% macro _disable_advice(registered) %}
    {% do return(
        'table ' ~ registered.source_schema ~ '.' ~ registered.source_name ~ ' has two capture instances, so first '
        ~ "move those who read '" ~ registered.capture_instance ~ "', which " ~ registered.why ~ ', to the other one '
        ~ '(disable_table with dry_run: true names them), and disable it, with which its change table goes: '
        ~ dbt_cdc._disable_command(registered) ~ '; delete its model, its YAML and its name in '
        ~ 'cdc_capture_instances; then ') %}
{% endmacro %}
