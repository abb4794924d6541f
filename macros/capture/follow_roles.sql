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
            'change_tables', instance, {'role_name': dbt_cdc._literal(instance.role_name)}) %}
    {% endfor %}
{% endmacro %}
