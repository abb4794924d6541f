{#- Run-operation, the cleanup job: raises the low ends of all instances to the first commit that the
    retention keeps, then removes what is below them. Each step can be repeated; readers of a window
    below a low end get CDC 313 before any row goes. -#}
{% macro cleanup(dry_run=false) %}
    {% do dbt_cdc._declare_state() %}
    {% if execute %}
        {% do dbt_cdc._ensure_state_tables() %}
        {% set state = dbt_cdc._published_state() %}
        {% set job = dbt_cdc._find_job('cleanup') %}
        {% if not state.high_end %}
            {% do dbt_cdc._log_line('cleanup: nothing is published yet') %}
        {% else %}
            {% set mark = dbt_cdc._fetch(dbt_cdc._retention_mark_sql(state, job.retention))[0].lsn %}
            {% do dbt_cdc._clean_up(mark, none, dry_run) %}
        {% endif %}
    {% endif %}
{% endmacro %}


{#- Not the clock counts but the last commit time: where capture stalls, nothing more goes. -#}
{% macro _retention_mark_sql(state, retention) -%}
    select min(start_lsn) as lsn
    from {{ dbt_cdc._state_relation('lsn_time_mapping') }}
    where
        start_lsn <= '{{ state.high_end }}'
        and tran_end_time
        >= {{ dbt_cdc._time_literal(state.intervals.values() | map(attribute='high_time') | max) }}
        - interval '{{ retention }}' minute
{%- endmacro %}


{#- Raises the low ends below `mark` (none: of no instance), of one instance or of all, and removes
    what is below the low ends. -#}
{% macro _clean_up(mark, capture_instance, dry_run) %}
    {% set is_one = 'lower(capture_instance) = ' ~ dbt_cdc._literal(capture_instance | lower)
        if capture_instance else 'true' %}
    {% set instances = dbt_cdc._registered_instances(is_one) %}
    {% for instance in instances %}
        {% do instance.update(new_low_end=[mark or '', instance.low_end] | max) %}
    {% endfor %}
    {% if dry_run %}
        {% do dbt_cdc._print_rows(dbt_cdc._removable(instances)) %}
    {% else %}
        {% if mark %}
            {% set raise_ends -%}
                update {{ dbt_cdc._state_relation('change_tables') }}
                set start_lsn = '{{ mark }}'
                where start_lsn < '{{ mark }}' and {{ is_one }}
            {%- endset %}
            {% do run_query(dbt_cdc._on_failure(raise_ends, raise_ends)) %}
            {% do dbt_cdc._publish_validity_intervals(dbt_cdc._published_state().scanned_lsn) %}
        {% endif %}
        {% for instance in instances %}
            {% do instance.update(removed_rows=dbt_cdc._remove_rows(
                instance.relation, "`__$start_lsn` < '" ~ instance.new_low_end ~ "'")) %}
        {% endfor %}
        {% if not capture_instance %}
            {% do dbt_cdc._trim_state(instances) %}
        {% endif %}
        {% do dbt_cdc._report_cleanup(instances) %}
    {% endif %}
{% endmacro %}


{% macro _report_cleanup(instances) %}
    {% set lines = [] %}
    {% for instance in instances %}
        {% do lines.append({
            'capture_instance': instance.capture_instance, 'low_end': instance.new_low_end,
            'removed_rows': instance.removed_rows
        }) %}
    {% endfor %}
    {% do dbt_cdc._print_rows(lines) %}
    {% set failed = lines | selectattr('removed_rows', 'equalto', 'failed')
        | map(attribute='capture_instance') | list %}
    {% if failed %}
        {% do dbt_cdc.raise_cdc_error(
            22852, 'rows of ' ~ failed | join(', ') ~ ' could not be removed',
            'their low ends are raised, so no query reads these rows; the next cleanup removes them'
        ) %}
    {% endif %}
{% endmacro %}


{#- The instances that are entered, also those whose models are gone: [{capture_instance, low_end,
    relation}]. -#}
{% macro _registered_instances(condition='true') %}
    {% set table = dbt_cdc._state_relation('change_tables') %}
    {% set declared = dbt_cdc._capture_instances() %}
    {% set found = [] %}
    {% for row in dbt_cdc._fetch(
        'select capture_instance, start_lsn as low_end from ' ~ table ~ ' where ' ~ condition
        ~ ' order by capture_instance'
    ) %}
        {% set name = row.capture_instance | lower %}
        {% set relation = declared[name].relation if name in declared
            else table.incorporate(path={'identifier': name ~ '_ct'}) %}
        {% do found.append(dict(row, relation=relation)) %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}
