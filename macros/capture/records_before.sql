{#- What a window has written before it renamed something. The instance that goes on has all of the transaction that did
    so first, and would read such records by names that they do not have. -#}

{#- Until they bear the new name, `problem` of both instances says so. -#}
{% macro _check_records_before(plans, window) %}
    {% for name, plan in plans.items() if plan.problem and (plan.problem.renames or plan.problem.new_name) %}
        {% set instance, problem = dbt_cdc._capture_instances()[name], plan.problem %}
        {% set successor = dbt_cdc._successor_of(instance, problem, plans) %}
        {% if successor %}
            {% set other, next = dbt_cdc._capture_instances()[successor | lower], plans[successor | lower] %}
            {% set early, new_names, ambiguous = [], {}, [] %}
            {% do early.append(dbt_cdc._is_before(instance, problem.place)) if problem.new_name %}
            {#- one that cannot follow all the way is made for the names up to there -#}
            {% for rename in problem.renames or [] if rename.lsn < (next.problem or {}).get('lsn', '0xG') %}
                {% do new_names.update({rename.old: rename.new}) %}
                {% do ambiguous.append(rename.old) if rename.is_ambiguous %}
                {% do early.append(dbt_cdc._is_before(
                    other, rename.place, [rename.old], rename.new if rename.is_taken and not rename.is_ambiguous)) %}
            {% endfor %}
            {#- what is before a TRUNCATE nobody has -#}
            {% set from_lsn = plan.emptied_place if plan.emptied_lsn == problem.lsn else window.floor_lsn %}
            {% set found = dbt_cdc._records_before(window, problem.lsn, from_lsn, early, new_names, ambiguous)
                if early %}
            {% for each in [plan, next] if found %}
                {% do each.update(problem=dict(
                    problem, text=problem.text ~ ', behind ' ~ found.text, advice=found.advice)) %}
            {% endfor %}
        {% endif %}
    {% endfor %}
{% endmacro %}


{#- Whether a record is one of the table before a place, and has one of the names, or any without names; or an image of
    it has that and not the `new` one. -#}
{% macro _is_before(table, place, names=[], new=none) -%}
    {%- set names = 'array(' ~ dbt_cdc._literals(names) ~ ')' if names -%}
    ({{ dbt_cdc._is_of_table(table.source_schema, table.source_name) }} and log.lsn < '{{ place }}'
    {%- if new %} and exists(array(before_image, after_image), image -> arrays_overlap(json_object_keys(image), {# -#}
        {{ names }}) and not array_contains(json_object_keys(image), {{ dbt_cdc._literal(new) }}))
    {%- elif names %} and arrays_overlap({{ dbt_cdc._named_in_images() }}, {{ names }}){% endif %})
{%- endmacro %}


{#- The records in commits of the window from an LSN on that are not before from_lsn and for which one of the
    conditions holds: {text, advice}, or none. `new_names`, where they are known: {old: new}; by those that are
    `ambiguous` no record tells whether it was corrected. -#}
{% macro _records_before(window, commit_lsn, from_lsn, conditions, new_names={}, ambiguous=[]) %}
    {% set found = dbt_cdc._fetch(
        'select count(*) as records, min(log.lsn) as first_lsn, max(log.lsn) as last_lsn from '
        ~ dbt_cdc._transactions_of(window) ~ ' as committed inner join ' ~ window.log
        ~ ' as log on log.tran_id = committed.tran_id and log.lsn between committed.begin_lsn and committed.commit_lsn '
        ~ "where committed.commit_lsn >= '" ~ commit_lsn ~ "' and committed.window_to_lsn = '" ~ window.to_lsn
        ~ "' and log.lsn >= '" ~ from_lsn ~ "' and operation in ('INSERT', 'UPDATE', 'DELETE') and ("
        ~ conditions | join(' or ') ~ ')'
    )[0] %}
    {% set names = [] %}
    {% for old, new in new_names.items() %}
        {% do names.append(old ~ ' is ' ~ new) %}
    {% endfor %}
    {% do return({
        'text': found.records ~ ' records of this window that have the old name (lsn ' ~ found.first_lsn ~ ' to '
            ~ found.last_lsn ~ ')',
        'advice': ('other columns have the names ' ~ ambiguous | join(', ') ~ ' now, so no record would tell that it '
            ~ 'was corrected: ' if ambiguous else 'give them the new name, too (' ~ names | join(', ')
            ~ ('; ' if names) ~ 'an UPDATE of ' ~ window.log ~ ', sent by run_statement), and run again: then the '
            ~ 'second instance has them; or ') ~ dbt_cdc._capture_anew_advice('disable_table of both instances')
            ~ '; its consumers start over'
    } if found.records else none) %}
{% endmacro %}
