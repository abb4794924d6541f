{#- Run-operation: raises one instance's low end to `low_water_mark`, or to the first LSN of the same
    commit time, and removes what is below. A NULL mark only removes, e.g. what an earlier cleanup
    could not. -#}
{% macro cleanup_change_table(capture_instance, low_water_mark, threshold=none, dry_run=false) %}
    {% if execute %}
        {% do dbt_cdc._check_enabled() %}
        {% do dbt_cdc._ensure_state_tables() %}
        {% do dbt_cdc._check_threshold(threshold) %}
        {% set dry_run = dbt_cdc._as_boolean('dry_run', dry_run) %}
        {% do dbt_cdc.raise_cdc_error(
            22963, 'capture_instance is NULL', 'name the instance whose change table is cleaned'
        ) if not capture_instance %}
        {% set instance = dbt_cdc._find_registered(capture_instance) %}
        {% set mark = none if low_water_mark is none else dbt_cdc._checked_mark(instance, low_water_mark) %}
        {% set cleaned = dbt_cdc._clean_up(mark, capture_instance, dry_run, threshold) %}
        {% do dbt_cdc._report_cleanup(cleaned, dry_run) %}
    {% endif %}
{% endmacro %}


{% macro _check_threshold(threshold) %}
    {% if threshold is not none and (
        threshold is not number or threshold is boolean or threshold != threshold | int or threshold <= 0
    ) %}
        {% do dbt_cdc.raise_cdc_error(
            22850, 'threshold is ' ~ threshold, 'give a whole number of rows above 0, or leave it out'
        ) %}
    {% endif %}
{% endmacro %}


{#- The mark, lowered to the first LSN of its commit time, but not below the low end. -#}
{% macro _checked_mark(instance, low_water_mark) %}
    {% set mapping = dbt_cdc._state_relation('lsn_time_mapping') %}
    {% set text = dbt_cdc._lsn_text(low_water_mark) %}
    {% set is_lsn = modules.re.match('^0[xX][0-9a-fA-F]{20}$', text) %}
    {% set mark = '0x' ~ text[2:] | upper %}
    {% set rows = dbt_cdc._fetch(
        'select coalesce(min(ties.start_lsn), max(entry.start_lsn)) as lsn from ' ~ mapping ~ ' as entry left join '
        ~ mapping ~ " as ties on entry.tran_end_time = ties.tran_end_time where entry.start_lsn = '" ~ mark ~ "'"
    ) if is_lsn else [] %}
    {% do dbt_cdc.raise_cdc_error(
        22964, 'low_water_mark ' ~ text ~ ' is not the start_lsn of an entry in '
        ~ 'lsn_time_mapping', 'give one that is there, e.g. of map_time_to_lsn'
    ) if not rows or not rows[0].lsn %}
    {% set high_end = dbt_cdc._published_state().intervals.get(
        instance.capture_instance | lower, {}).get('high_end') %}
    {% do dbt_cdc.raise_cdc_error(
        22957, 'low_water_mark ' ~ mark ~ ' lies outside the validity interval '
        ~ instance.start_lsn ~ ' to ' ~ high_end ~ ' of capture instance '
        ~ instance.capture_instance, 'a low end is only ever raised; give an LSN between them'
    ) if mark < instance.start_lsn or mark > (high_end or '') %}
    {% do return([rows[0].lsn, instance.start_lsn] | max) %}
{% endmacro %}
