{#- What advice to set a variable says of the place: dbt shows the macros of a model what is below the name of the
    model's own project or package, and nothing else of such scopes. -#}
{% macro _directly_below_vars() %}
    {% do return(', directly below vars: (the models of the project and of dbt_cdc read it, and what stands below the '
        ~ 'name of one of them the other does not see)') %}
{% endmacro %}


{#- A model of the project, also where a model of this package refers to it. -#}
{% macro _ref_of_project(name) %}
    {% set is_ours = model is defined and model.get('package_name') == 'dbt_cdc' %}
    {% do return(ref(project_name, name) if is_ours else ref(name)) %}
{% endmacro %}


{#- A variable may come as text, as each of env_var does; one that is null counts as not given. -#}
{% macro _switch_of_var(name, default) %}
    {% set given = var(name, none) %}
    {% do return(default if given is none else dbt_cdc._as_boolean('var ' ~ name, given)) %}
{% endmacro %}


{% macro _number_of_var(name, default=none, most=none) %}
    {% set given = var(name, none) %}
    {% if given is none %}
        {% do return(default) %}
    {% elif not modules.re.fullmatch('[0-9]+', given | string | trim) %}
        {% do dbt_cdc.raise_cdc_error(22963, 'var ' ~ name ~ " is '" ~ given ~ "'", 'give a whole number') %}
    {% endif %}
    {% do return([given | int, most or given | int] | min) %}
{% endmacro %}


{#- A hundred years, the bound of the cleanup job's retention; Spark's times do not reach back by any number. -#}
{% macro _most_minutes() %}
    {% do return(52594800) %}
{% endmacro %}


{% macro _stop_or_pass(name) %}
    {% set choice = var(name, 'stop') %}
    {% do dbt_cdc.raise_cdc_error(
        22963, 'var ' ~ name ~ " is '" ~ choice ~ "'", "give 'stop' or 'pass'")
        if choice not in ['stop', 'pass'] %}
    {% do return(choice) %}
{% endmacro %}


{#- Stops the run at what the variable is about, or tells of it where the project goes on. -#}
{% macro _stop_or_tell(name, what, told, advice) %}
    {% if dbt_cdc._stop_or_pass(name) == 'pass' %}
        {% do dbt_cdc._log_line(what ~ told) %}
    {% else %}
        {% do dbt_cdc.raise_cdc_error(22859, what, advice) %}
    {% endif %}
{% endmacro %}


{#- The way on without commits that landed too late; nothing notes what a run has passed over. -#}
{% macro _pass_late_commits() %}
    {% do return(
        'give vars: {cdc_late_commits: pass} to each run, until a day of windows has gone by (not in dbt_project.yml, '
        ~ 'where it would pass over later ones, too)'
    ) %}
{% endmacro %}


{% macro _incremental_strategy() %}
    {% do return((config.get('incremental_strategy')
        or ('merge' if target.type == 'databricks' else 'append')) | lower) %}
{% endmacro %}
