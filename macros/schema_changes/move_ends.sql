{#- What a publication does to the ends of validity intervals besides moving the high end. -#}

{#- A TRUNCATE, or a table that is dropped and made again, removes rows without a record of each, so no window
    may span it: the low ends of the table's instances rise to its commit, of which only the rows behind it are
    captured; to the LSN after that where it is no transaction's, or where a window may go on right there from what
    was published before. That a table is dropped, or no
    longer, is entered in the same statement: until then each command makes the same plan. -#}
{% macro _raise_emptied_low_ends(window) %}
    {% for name, plan in dbt_cdc._invocation_cache().get('plans', {}).items() %}
        {% set instance, values = dbt_cdc._capture_instances()[name], {} %}
        {#- one that ends there, or before, has none of it -#}
        {% if plan.emptied_lsn and plan.emptied_lsn < (instance.registered.end_lsn or '0xG') %}
            {% set after = dbt_cdc.increment_lsn(plan.emptied_lsn) %}
            {% set goes_on = plan.emptied_lsn == dbt_cdc.increment_lsn(window.previous_lsn) %}
            {% set low_end = after if goes_on or plan.emptied_place == plan.emptied_lsn else plan.emptied_lsn %}
            {% do values.update(
                start_lsn="greatest(start_lsn, '" ~ low_end ~ "')",
                lost_lsn="greatest(lost_lsn, '" ~ plan.emptied_lsn ~ "')"
            ) %}
            {% do dbt_cdc._log_line(
                instance.table ~ ' was ' ~ plan.emptied_by ~ ': windows of ' ~ instance.name ~ ' start at '
                ~ low_end ~ ' or later; consumers start over from the table as it was then'
                ~ (', with what else its transaction wrote: that commit follows right on what was published, '
                ~ 'and no window may begin there' if goes_on)
            ) %}
        {% endif %}
        {% do values.update(has_drop_pending=plan.is_dropped | lower)
            if plan.is_dropped is not none and plan.is_dropped != instance.registered.has_drop_pending %}
        {#- what is not published no other run raises -#}
        {% do dbt_cdc._update_metadata(
            'change_tables', instance, values, window if name in window.published else none) %}
    {% endfor %}
{% endmacro %}


{#- An instance without a model misses this window and so ends before it. One that is not published yet can come
    back: it has no end to keep. Nor does one end that another checkout has published this window with. -#}
{% macro _end_abandoned_instances(window) %}
    {% set gone = window.abandoned | select('in', window.published) | reject('in', window.ended) | list %}
    {% do dbt_cdc._update_state(
        'change_tables', {'end_lsn': dbt_cdc._literal(dbt_cdc.increment_lsn(window.previous_lsn))},
        'end_lsn is null and lower(capture_instance) in (' ~ dbt_cdc._literals(gone) ~ ')',
        'select 1 from ' ~ dbt_cdc._state_relation('lsn_time_mapping')
        ~ " where start_lsn >= '" ~ window.to_lsn ~ "'"
        ~ (' union all select 1 from ' ~ dbt_cdc._validity_intervals() ~ " where scanned_lsn >= '" ~ window.to_lsn
        ~ "'" if load_cached_relation(dbt_cdc._validity_intervals()) is not none else ''))
        if gone %}
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
