{#- Gating by role_name: SELECT on what a consumer reads, where somebody enforces it. -#}

{#- Refuses a role that nobody would enforce, unless the project accepts that. -#}
{% macro _check_role(instance) %}
    {% if instance.role_name is not none and dbt_cdc._role_gating() == 'refuse' %}
        {% do dbt_cdc.raise_cdc_error(
            22938, "capture instance '" ~ instance.name ~ "' is gated by role_name '"
            ~ instance.role_name ~ "', and target '" ~ target.name ~ "' is not known to enforce grants",
            "leave role_name out; or set vars: {cdc_role_gating: grant} where the catalog has grants, "
            ~ '{cdc_role_gating: accept} to record the role and enforce nothing'
        ) %}
    {% endif %}
{% endmacro %}


{% macro _role_gating() %}
    {% set gating = var('cdc_role_gating', 'grant' if target.type == 'databricks' else 'refuse') %}
    {% if gating not in ['grant', 'accept', 'refuse'] %}
        {% do dbt_cdc.raise_cdc_error(
            22938, "var cdc_role_gating is '" ~ gating ~ "'", 'it is one of grant, accept, refuse'
        ) %}
    {% endif %}
    {% do return(gating) %}
{% endmacro %}


{#- What the role of an instance reads, as (privilege, what): the change table, its functions. -#}
{% macro _gated_by_role(instance) %}
    {% set gated = [('select', instance.relation)] %}
    {% for name in dbt_cdc._query_functions(instance) if var('cdc_persistent_functions', true) %}
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
        if var('cdc_persistent_functions', true) %}
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


{#- At a publication: where the YAML names another role than before, the old one loses what the new one gets. -#}
{% macro _follow_roles() %}
    {% set instances = dbt_cdc._capture_instances().values() %}
    {% for instance in instances if instance.get('registered')
        and instance.registered.get('role_name', instance.role_name) != instance.role_name %}
        {% do dbt_cdc._revoke_from_role(
            instance.registered.role_name, dbt_cdc._gated_by_role(instance),
            instances | map(attribute='role_name') | list) %}
        {% do dbt_cdc._grant_to_roles([instance]) %}
        {% do dbt_cdc._update_metadata(
            'change_tables', instance, ['role_name = ' ~ dbt_cdc._literal(instance.role_name)]) %}
    {% endfor %}
{% endmacro %}
