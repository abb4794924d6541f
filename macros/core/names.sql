{#- Names of tables and of instances, and what is made of them. -#}

{#- What the names of an instance's change table, model and functions have for its own: Spark's catalogs take
    letters, digits and _ only, SQL Server's instance may be called dbo_Order Details. Of letters beyond ASCII
    nothing is left, so that a part of a hash tells dbo_订单 and dbo_产品 apart, within 100 characters. -#}
{% macro _object_name(capture_instance) %}
    {% set name = capture_instance | lower %}
    {% set plain = dbt_cdc._plain_name(name) %}
    {% do return(plain if modules.re.fullmatch('[\\x00-\\x7f]*', name) else plain[:91] ~ '_' ~ local_md5(name)[:8]) %}
{% endmacro %}


{% macro _plain_name(name) %}
    {% do return(modules.re.sub('[^a-z0-9_]', '_', name | lower)) %}
{% endmacro %}


{#- The names that the side table of a table (schema.table) may have: the one that it gets, and the one that earlier
    versions gave, without a hash. -#}
{% macro _side_table_names(table) %}
    {% do return([
        'change_tracking_' ~ dbt_cdc._object_name(table | replace('.', '_')),
        'change_tracking_' ~ dbt_cdc._plain_name(table),
    ]) %}
{% endmacro %}


{#- The one of these tables (schema.table) that `given` means: the one that is called so, else the only one that is
    in another letter case; none if there is none. -#}
{% macro _meant_table(given, tables) %}
    {% set others = [] %}
    {% for table in tables | unique(case_sensitive=true) if table | lower == given | lower %}
        {% do return(given) if table == given %}
        {% do others.append(table) %}
    {% endfor %}
    {% do return(others[0] if others | length == 1 else none) %}
{% endmacro %}


{#- The tracked table that `given` means, schema.table or the side table's name, whose beginning may be left out. -#}
{% macro _table_called(given, tables) %}
    {% set name = (given if given is not none else '') | string | trim %}
    {% set meant, suffix = dbt_cdc._meant_table(name, tables | map(attribute='table')), dbt_cdc._suffix_of(name) %}
    {% for table in tables if table.table == meant
        or '.' not in name and suffix in [table.key | replace('.', '_'), table.name[16:]] %}
        {% do return(table) %}
    {% endfor %}
    {% do return(none) %}
{% endmacro %}


{% macro _suffix_of(name) %}
    {% set name = name | string | trim | lower %}
    {% do return(name[16:] if name.startswith('change_tracking_') else name) %}
{% endmacro %}


{% macro _source_of(instance) %}
    {% do return(
        {'source_schema': instance.source_schema, 'source_name': instance.source_name}
    ) %}
{% endmacro %}


{% macro _source_tables_sql(tables) -%}
    cast(array(
        {%- for table in tables %}
        named_struct(
            'source_schema', {{ dbt_cdc._literal(table.source_schema) }},
            'source_name', {{ dbt_cdc._literal(table.source_name) }}
        ){{ ',' if not loop.last }}
        {%- endfor %}
    ) as array<struct<source_schema: string, source_name: string>>)
{%- endmacro %}


{#- The records of a table in a log. -#}
{% macro _is_of_table(source_schema, source_name) -%}
    source_schema = {{ dbt_cdc._literal(source_schema) }} and source_name = {{ dbt_cdc._literal(source_name) }}
{%- endmacro %}


{#- Stable positive numbers for a name: SQL Server's object ids have no counterpart on Spark. -#}
{% macro _object_id(name) %}
    {% do return(local_md5(name | lower)[:8] | int(base=16) % 2147483647) %}
{% endmacro %}
