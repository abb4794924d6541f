{#- In one statement, with the last commit that goes from each table; then the view of validity bounds
    shows it, if what is `shown` does not. -#}
{% macro _raise_low_ends(instances, shown) %}
    {% set raised, behind = [], [] %}
    {% for instance in instances %}
        {% set low_end = shown.intervals.get(instance.capture_instance | lower, {}).get('low_end') %}
        {% do raised.append(instance) if instance.low_end < instance.new_low_end %}
        {% do behind.append(instance) if low_end != instance.new_low_end %}
    {% endfor %}
    {% set last_lsns = dbt_cdc._last_lsns_to_remove(raised) if raised %}
    {% set low_ends, lost_lsns = {}, {} %}
    {% for instance in raised %}
        {% set name = instance.capture_instance | lower %}
        {% do low_ends.update({name: dbt_cdc._literal(instance.new_low_end)}) %}
        {% do lost_lsns.update({name: dbt_cdc._literal(last_lsns.get(instance.capture_instance))}) %}
    {% endfor %}
    {% do dbt_cdc._update_state('change_tables', {
        'start_lsn': 'greatest(start_lsn, ' ~ dbt_cdc._case_of('lower(capture_instance)', low_ends) ~ ')',
        'lost_lsn': 'greatest(lost_lsn, ' ~ dbt_cdc._case_of('lower(capture_instance)', lost_lsns) ~ ')',
    }, 'lower(capture_instance) in (' ~ dbt_cdc._literals(low_ends) ~ ')') if raised %}
    {% do dbt_cdc._publish_validity_intervals(shown.scanned_lsn) if behind %}
{% endmacro %}


{#- The last commit below the new low end that left a row, by instance: whoever has consumed it misses
    nothing. -#}
{% macro _last_lsns_to_remove(instances) %}
    {% set questions = [] %}
    {% for instance in instances %}
        {% do questions.append(
            '(select ' ~ dbt_cdc._literal(instance.capture_instance) ~ ' as capture_instance, '
            ~ 'max(`__$start_lsn`) as lsn from ' ~ instance.relation ~ " where `__$start_lsn` < '"
            ~ instance.new_low_end ~ "')"
        ) %}
    {% endfor %}
    {% set rows = dbt_cdc._fetch(questions | join(' union all ')) if questions else [] %}
    {% do return(dict(zip(rows | map(attribute='capture_instance'), rows | map(attribute='lsn')))) %}
{% endmacro %}
