{#- Run-operation, the cleanup job: raises the low ends of all instances to the first commit that the
    retention keeps, then removes what is below them, then compacts what captures have left in small
    files. Each step can be repeated; readers of a window below a low end get CDC 313 before any row
    goes. -#}
{% macro cleanup(dry_run=false, compact=true, vacuum_hours=none) %}
    {% if execute %}
        {% set dry_run = dbt_cdc._as_boolean('dry_run', dry_run) %}
        {% set compact = dbt_cdc._as_boolean('compact', compact) %}
        {% do dbt_cdc._check_enabled() %}
        {% do dbt_cdc._check_vacuum_hours(vacuum_hours) %}
        {% do dbt_cdc._ensure_state_tables() %}
        {% set state = dbt_cdc._published_state() %}
        {% set job = dbt_cdc._find_job('cleanup', dbt_cdc._jobs()) %}
        {% if not state.high_end %}
            {% do dbt_cdc._log_line('cleanup: no change table has anything published') %}
            {% do dbt_cdc._tend_files([], compact, vacuum_hours) if not dry_run %}
        {% else %}
            {% set found = dbt_cdc._fetch(dbt_cdc._retention_mark_sql(state, job.retention))[0] %}
            {% do dbt_cdc._log_line(
                'cleanup: a commit has the time ' ~ found.time_to_come ~ ', which is still to come: the retention '
                ~ 'counts from the last commit that has been'
            ) if found.time_to_come %}
            {% set cleaned = dbt_cdc._clean_up(
                found.lsn, none, dry_run, dbt_cdc._rows_of_a_delete(job)) %}
            {% do dbt_cdc._tend_files(cleaned.instances, compact, vacuum_hours) if not dry_run %}
            {% do dbt_cdc._report_cleanup(cleaned, dry_run) %}
        {% endif %}
    {% endif %}
{% endmacro %}


{#- Raises the low ends below `mark` (none: of no instance), of one instance or of all, and removes
    what is below the low ends, `threshold` rows a DELETE. Gives the instances, with what became of each, and what was
    `kept`. -#}
{% macro _clean_up(mark, capture_instance, dry_run, threshold) %}
    {% set is_one = 'lower(capture_instance) = ' ~ dbt_cdc._literal(capture_instance | lower)
        if capture_instance else 'true' %}
    {% set instances, shown = dbt_cdc._registered_instances(is_one), dbt_cdc._published_state() %}
    {% set published = dbt_cdc._published_instances(shown) %}
    {#- one that is not published yet captures from its low end on; of a table that is not found here nobody could tell
        which changes go, nor who has not read them -#}
    {% for instance in instances %}
        {% set is_raised = instance.capture_instance | lower in published
            and load_cached_relation(instance.relation) is not none %}
        {% do instance.update(new_low_end=[mark or '' if is_raised else '', instance.low_end] | max) %}
    {% endfor %}
    {% set losses = dbt_cdc._hold_for_consumers(instances, is_job=not capture_instance) %}
    {% if dry_run %}
        {% do dbt_cdc._print_rows(dbt_cdc._removable(instances)) %}
    {% else %}
        {#- once the low ends are raised nothing tells it any more -#}
        {% do dbt_cdc._record_losses(losses) %}
        {% do dbt_cdc._raise_low_ends(instances, shown) %}
        {% set kept = dbt_cdc._remove_dead_rows(
            instances, is_job=not capture_instance, threshold=threshold) %}
    {% endif %}
    {% do return({'instances': instances, 'kept': kept, 'losses': losses}) %}
{% endmacro %}


{#- Warnings come last: with --warn-error they end the command. -#}
{% macro _report_cleanup(cleaned, dry_run) %}
    {% set lines = [] %}
    {% for instance in cleaned.instances if not dry_run %}
        {% do lines.append({
            'capture_instance': instance.capture_instance, 'low_end': instance.new_low_end,
            'removed_rows': instance.removed_rows, 'compacted_files': instance.compacted_files or 0
        }) %}
    {% endfor %}
    {% do dbt_cdc._print_rows(lines) if not dry_run %}
    {% if cleaned.kept %}
        {% set problem = 'rows of ' ~ cleaned.kept.keys() | sort | join(', ') ~ ' could not be removed' %}
        {#- SQL Server's number where the change tables are clean -#}
        {% set is_change_table = cleaned.instances | selectattr('capture_instance', 'in', cleaned.kept) | list %}
        {% set number = 22852 if is_change_table else 22853 %}
        {% set advice = [] %}
        {% do advice.append('validity_intervals still shows an old low end, so queries may read them; the next '
            ~ 'cleanup raises it and removes them') if 'readable' in cleaned.kept.values() %}
        {% do advice.append('their low ends are raised, so no query reads these rows; the next cleanup removes them')
            if 'failed' in cleaned.kept.values() %}
        {% for instance in cleaned.instances if cleaned.kept.get(instance.capture_instance) == 'missing' %}
            {% do advice.append(instance.relation ~ ' is not there; to take the instance out: '
                ~ dbt_cdc._disable_command(instance)) %}
        {% endfor %}
        {% set advice = advice | join('; ') %}
        {% do dbt_cdc._record_errors([{
            'error_number': number, 'error_message': dbt_cdc._error_text(number, problem, advice),
        }]) %}
    {% endif %}
    {% for text in cleaned.losses %}
        {% do exceptions.warn(text) %}
    {% endfor %}
    {% do dbt_cdc.raise_cdc_error(number, problem, advice) if cleaned.kept %}
{% endmacro %}
