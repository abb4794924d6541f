{#- What stops an instance whose table has another one, which can take over: the first commit of the window
    with a value that an outgrown column does not hold. -#}
{% macro _problem_of_values(instance, plan, window) %}
    {% set window = dbt_cdc._instance_window(instance, window) %}
    {% set outgrown = dict(dbt_cdc._outgrown_columns(plan), **dbt_cdc._wider_elsewhere(instance, plan)) %}
    {% if not outgrown or not dbt_cdc._is_touched(instance, window)
        or dbt_cdc._instances_of([dbt_cdc._source_of(instance)]) | length < 2 %}
        {% do return(none) %}
    {% endif %}
    {% set columns = [] %}
    {% for column in instance.columns %}
        {% do columns.append(dict(column, data_type=plan.columns[column.name].type)) %}
    {% endfor %}
    {% set encoded = dbt_cdc._with_encodings(dict(instance, columns=columns), window) %}
    {% set found = dbt_cdc._fetch(
        dbt_cdc._placed_misfits(encoded, dbt_cdc._checked_changes(encoded, window))
        ~ ' select min(commit_lsn) as lsn, min_by(place, commit_lsn) as name from placed where place in ('
        ~ dbt_cdc._literals(outgrown.keys()) ~ ')')[0] %}
    {% do return({
        'lsn': found.lsn, 'number': 22978, 'text': "column '" ~ found.name ~ "' is " ~ outgrown[found.name]
        ~ ' by now, and a value of that commit does not fit the column of the change table',
        'renamed': {found.name | lower: found.name | lower}
    } if found.lsn else none) %}
{% endmacro %}
