{#- Refuses a role that nobody would enforce, unless the project accepts that, which is said of a new instance. -#}
{% macro _check_role(instance, is_new=false) %}
    {% do dbt_cdc.raise_cdc_error(
        22938, "capture instance '" ~ instance.name ~ "' is gated by role_name '"
        ~ instance.role_name ~ "', and target '" ~ target.name ~ "' is not known to enforce grants",
        "leave role_name out; or set vars: {cdc_role_gating: grant} where the catalog has grants, "
        ~ '{cdc_role_gating: accept} to record the role and enforce nothing'
    ) if instance.role_name is not none and dbt_cdc._role_gating() == 'refuse' %}
    {% do dbt_cdc._log_line(
        "role '" ~ instance.role_name ~ "' of capture instance '" ~ instance.name ~ "' is recorded and gates nothing "
        ~ 'here; it is granted SELECT where the catalog has grants (vars: {cdc_role_gating: grant})'
    ) if is_new and instance.role_name is not none and dbt_cdc._role_gating() == 'accept' %}
{% endmacro %}


{#- The embedded Spark has one user. Elsewhere a role that gates nothing is to be asked for. -#}
{% macro _role_gating() %}
    {% set gating = var('cdc_role_gating', 'grant' if target.type == 'databricks'
        else 'accept' if target.method == 'session' else 'refuse') %}
    {% do dbt_cdc.raise_cdc_error(
        22938, "var cdc_role_gating is '" ~ gating ~ "'", 'it is one of grant, accept, refuse'
    ) if gating not in ['grant', 'accept', 'refuse'] %}
    {% do return(gating) %}
{% endmacro %}


{#- The model's own grants; where it has some, dbt takes away all others but that of the role. -#}
{% macro _grants_with_role(instance) %}
    {% set grants = dict(config.get('grants') or {}) %}
    {% if grants and instance.role_name and dbt_cdc._role_gating() == 'grant' %}
        {% set readers = grants.get('select') or [] %}
        {% set readers = [readers] if readers is string else readers | list %}
        {% do grants.update(select=readers + ([instance.role_name] if instance.role_name not in readers else [])) %}
    {% endif %}
    {% do return(grants) %}
{% endmacro %}
