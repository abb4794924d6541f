{#- Gating by role_name: SELECT on what a consumer reads, where somebody enforces it. -#}

{#- What the role of an instance reads, as (privilege, what): the change table, its functions. -#}
{% macro _gated_by_role(instance) %}
    {% set gated = [('select', instance.relation)] %}
    {% for name in dbt_cdc._query_functions(instance) if dbt_cdc._switch_of_var('cdc_persistent_functions', true) %}
        {% do gated.append(('execute', 'function ' ~ dbt_cdc._function_name(name))) %}
    {% endfor %}
    {% do return(gated) %}
{% endmacro %}


{#- What it shares with other roles: metadata, the bounds of windows, the functions of LSNs and masks. -#}
{% macro _shared_by_roles() %}
    {% set shared = [('select', dbt_cdc._validity_intervals())] %}
    {% for table in ['change_tables', 'captured_columns', 'index_columns', 'ddl_history', 'lsn_time_mapping'] %}
        {% do shared.append(('select', dbt_cdc._state_relation(table))) %}
    {% endfor %}
    {% for name in dict(dbt_cdc._lsn_functions(), **dbt_cdc._mask_functions())
        if dbt_cdc._switch_of_var('cdc_persistent_functions', true) %}
        {% do shared.append(('execute', 'function ' ~ dbt_cdc._function_name(name))) %}
    {% endfor %}
    {% do return(shared) %}
{% endmacro %}


{#- A new instance is granted to its role before anything of it is published, so that a role that is not there
    is an error in time; and again where its functions were replaced. What is shared was replaced with them, so
    that all roles get it again. -#}
{% macro _grant_to_roles(instances) %}
    {% if dbt_cdc._role_gating() == 'grant' %}
        {% for instance in instances if instance.role_name %}
            {% for privilege, what in dbt_cdc._gated_by_role(instance) %}
                {% do run_query(get_grant_sql(what, privilege, [instance.role_name])) %}
            {% endfor %}
        {% endfor %}
        {% do dbt_cdc._grant_to_all_roles(dbt_cdc._shared_by_roles()) %}
    {% endif %}
{% endmacro %}


{#- What was replaced has lost its grants. -#}
{% macro _grant_to_all_roles(shared) %}
    {% set is_enforced = dbt_cdc._role_gating() == 'grant' %}
    {% for role in dbt_cdc._capture_instances().values() | map(attribute='role_name') | select | unique %}
        {% for privilege, what in shared if is_enforced %}
            {% do run_query(get_grant_sql(what, privilege, [role])) %}
        {% endfor %}
    {% endfor %}
{% endmacro %}


{#- `roles`: those that other instances have; what is shared stays theirs. -#}
{% macro _revoke_from_role(role, gated, roles) %}
    {% if role and dbt_cdc._role_gating() == 'grant' %}
        {% for privilege, what in gated + (dbt_cdc._shared_by_roles() if role not in roles else []) %}
            {% do run_query(get_revoke_sql(what, privilege, [role])) %}
        {% endfor %}
    {% endif %}
{% endmacro %}
