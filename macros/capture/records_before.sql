{#- What a transaction has written before it renamed something. The instance that goes on has all of the transaction,
    and would read such records by names that they do not have. -#}

{#- Until they bear the new name, `problem` of both instances says so. -#}
{% macro _check_records_before(plans, window) %}
    {% for name, plan in plans.items() if plan.problem and (plan.problem.number == 4928 or plan.problem.new_name) %}
        {% set instance, problem, old_names = dbt_cdc._capture_instances()[name], plan.problem, [] %}
        {% set other = dbt_cdc._successor_of(instance, problem, plans) %}
        {% for column in instance.columns if column.name | lower in (problem.renamed or {}) %}
            {% do old_names.append(column.name) %}
        {% endfor %}
        {#- what is before a TRUNCATE nobody has -#}
        {% set from_lsn = plan.emptied_place if plan.emptied_lsn == problem.lsn else window.floor_lsn %}
        {% set found = dbt_cdc._records_before(instance, window, problem.lsn, from_lsn, problem.place, old_names)
            if other %}
        {% for each in [name, other | lower] if found %}
            {% do plans[each].update(problem=dict(
                problem, text=problem.text ~ ', behind ' ~ found.text, advice=found.advice)) %}
        {% endfor %}
    {% endfor %}
{% endmacro %}


{#- The instance's records in commits of the window from an LSN on that lie in [from_lsn, place) and have one of the
    names, or any without names: {text, advice}, or none. -#}
{% macro _records_before(instance, window, commit_lsn, from_lsn, place, names) %}
    {% set found = dbt_cdc._fetch(
        'select count(*) as records, min(log.lsn) as first_lsn, max(log.lsn) as last_lsn from '
        ~ dbt_cdc._transactions_of(window) ~ ' as committed inner join ' ~ window.log
        ~ ' as log on log.tran_id = committed.tran_id and log.lsn between committed.begin_lsn and committed.commit_lsn '
        ~ "where committed.commit_lsn >= '" ~ commit_lsn ~ "' and committed.window_to_lsn = '" ~ window.to_lsn
        ~ "' and log.lsn >= '" ~ from_lsn ~ "' and log.lsn < '" ~ place ~ "' and "
        ~ dbt_cdc._is_of_table(instance.source_schema, instance.source_name)
        ~ " and operation in ('INSERT', 'UPDATE', 'DELETE')"
        ~ (' and arrays_overlap(' ~ dbt_cdc._named_in_images() ~ ', array(' ~ dbt_cdc._literals(names) ~ '))' if names)
    )[0] %}
    {% do return({
        'text': found.records ~ ' records of its transaction that have the old name (lsn ' ~ found.first_lsn ~ ' to '
            ~ found.last_lsn ~ ')',
        'advice': 'give them the new name, too (an UPDATE of ' ~ window.log ~ ', sent by run_statement), and run '
            ~ 'again: then the second instance has them; or capture the table anew, without this transaction: '
            ~ 'disable_table of both instances, dbt run, and enable_table; its consumers start over'
    } if found.records else none) %}
{% endmacro %}
