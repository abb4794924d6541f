{#- The argument `types` of the adapters that make the log, each of which leaves it in its model's meta; none
    without an adapter. -#}
{% macro _adapter_types() %}
    {% do return(dbt_cdc._told_by_adapters().types) %}
{% endmacro %}


{#- The Spark type of one that a DDL record tells. -#}
{% macro _type_of_ddl(source_type) %}
    {% do return(dbt_cdc._spark_type(source_type, dbt_cdc._told_by_adapters().is_of_binlog)) %}
{% endmacro %}


{% macro _told_by_adapters() %}
    {#- dbt has no graph while it parses -#}
    {% do return({'types': none, 'is_of_binlog': false, 'is_of_sqlserver': false, 'has_whole_deletes': false})
        if not execute %}
    {% set cache = dbt_cdc._invocation_cache() %}
    {% if 'adapters' not in cache %}
        {% set found, connectors = namespace(types=none), [] %}
        {% for id in (dbt_cdc._models_of_log() if not dbt_cdc._is_unit_test() else []) %}
            {% set meta = graph.nodes[id].config.meta or {} %}
            {% set types = meta.get('cdc_source_types') %}
            {% set found.types = dict(found.types or {}, **types) if types is mapping else found.types %}
            {% do connectors.append(meta.get('cdc_connector')) %}
        {% endfor %}
        {% do cache.update(adapters={
            'types': found.types, 'is_of_binlog': 'mysql' in connectors or 'mariadb' in connectors,
            'is_of_sqlserver': 'sqlserver' in connectors,
            'has_whole_deletes': 'postgresql' in connectors or 'mysql' in connectors or 'mariadb' in connectors}) %}
    {% endif %}
    {% do return(cache.adapters) %}
{% endmacro %}
