{#- What a publication does to the ends of validity intervals besides moving the high end. -#}

{#- A TRUNCATE removes rows without a record of each, so no window may span it: the low ends of the
    table's instances rise to the LSN after it. -#}
{% macro _raise_truncated_low_ends() %}
    {% for name, plan in dbt_cdc._invocation_cache().get('plans', {}).items() if plan.truncated_lsn %}
        {% set instance = dbt_cdc._capture_instances()[name] %}
        {% set low_end = dbt_cdc.increment_lsn(plan.truncated_lsn) %}
        {% do run_query(
            'update ' ~ dbt_cdc._state_relation('change_tables') ~ " set start_lsn = '" ~ low_end
            ~ "', lost_lsn = '" ~ plan.truncated_lsn
            ~ "' where object_id = " ~ dbt_cdc._object_id(instance.name ~ '_ct')
            ~ " and start_lsn < '" ~ low_end ~ "'"
        ) %}
        {% do dbt_cdc._log_line(
            instance.table ~ ' was truncated: windows of ' ~ instance.name ~ ' start at ' ~ low_end
            ~ ' or later; consumers start over from the table as it was then'
        ) %}
    {% endfor %}
{% endmacro %}


{#- An instance without a model misses this window and so ends before it. -#}
{% macro _end_abandoned_instances(window) %}
    {% set gone = window.abandoned | reject('in', window.ended) | list %}
    {% if gone %}
        {% do run_query(
            'update ' ~ dbt_cdc._state_relation('change_tables') ~ " set end_lsn = '"
            ~ dbt_cdc.increment_lsn(window.previous_lsn) ~ "' where end_lsn is null"
            ~ ' and lower(capture_instance) in (' ~ dbt_cdc._literals(gone) ~ ')'
        ) %}
    {% endif %}
{% endmacro %}


{#- The instances that no longer capture, and where: {name: high_end}. -#}
{% macro _ended_instances(state) %}
    {% set ended = {} %}
    {% for name, interval in state.intervals.items()
        if interval.high_end and interval.high_end != state.high_end %}
        {% do ended.update({name: interval.high_end}) %}
    {% endfor %}
    {% do return(ended) %}
{% endmacro %}


{#- Each run says which instances no longer capture. -#}
{% macro _report_ended_instances(window) %}
    {% for name in window.abandoned %}
        {% do dbt_cdc._log_line(
            "capture instance '" ~ name ~ "' has no model any more: it captures nothing, what it has "
            ~ 'stays; dbt run-operation help_change_data_capture shows it, disable_table removes it'
        ) %}
    {% endfor %}
    {% for name, high_end in window.ended.items() if name not in window.abandoned %}
        {% do dbt_cdc._log_line(
            "capture instance '" ~ name ~ "' ended: its changes up to " ~ high_end
            ~ ' can be read; disable it when nobody needs them'
        ) %}
    {% endfor %}
{% endmacro %}
