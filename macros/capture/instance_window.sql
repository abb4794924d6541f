{#- The window as one instance sees it: until it is published an instance starts at its low end, which may lie
    before the window: at the log's start, or where windows were published without it (`is_backfill`); one that
    takes over from another starts at that LSN. It is new in the window (`is_late`) unless all are. One that ended
    has an `end_lsn`, the first that it lacks. Of the commit at `emptied_lsn` it has what is behind `emptied_place`,
    where its table was emptied. -#}
{% macro _instance_window(instance, window) %}
    {% set window = dict(
        window, log=window.log or dbt_cdc._log_relation(),
        transactions_relation=dbt_cdc._transactions_of(window)
    ) %}
    {% set registered = instance.get('registered') or {} %}
    {% set is_late = instance.name | lower not in window.published
        and window.previous_lsn != dbt_cdc._zero_lsn() %}
    {% set previous_lsn = dbt_cdc._zero_lsn() if instance.capture_from == 'log_start'
        else dbt_cdc.decrement_lsn(registered.start_lsn) if registered else window.previous_lsn %}
    {% set plan = dbt_cdc._invocation_cache().get('plans', {}).get(instance.name | lower, {}) %}
    {% do window.update(
        is_late=is_late, is_backfill=is_late and previous_lsn < window.previous_lsn, end_lsn=registered.get('end_lsn'),
        emptied_lsn=plan.get('emptied_lsn'), emptied_place=plan.get('emptied_place')
    ) %}
    {% do window.update(previous_lsn=previous_lsn) if is_late %}
    {% do window.update(floor_lsn=dbt_cdc._zero_lsn()) if window.is_backfill %}
    {% do return(window) %}
{% endmacro %}


{#- Whether the window may hold a change of the instance's table. Of one that is new in it, what was written down when
    the window was opened need not tell: records may have been corrected since, as where the table was renamed. -#}
{% macro _is_touched(instance, window) %}
    {% do return(
        window.is_late
        or (dbt_cdc._source_of(instance) in window.touched_tables
            and (window.end_lsn or '0xG') > dbt_cdc.increment_lsn(window.previous_lsn))
    ) %}
{% endmacro %}


{#- What the window's transactions are read from. -#}
{% macro _transactions_of(window) %}
    {% do return(window.transactions_relation or dbt_cdc._state_relation('scan_transactions')) %}
{% endmacro %}
