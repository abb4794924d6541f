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


{#- The suffix of a side table's name, by the table's name (schema.table) or the side table's. -#}
{% macro _suffix_of(table) %}
    {% set suffix = dbt_cdc._plain_name((table if table is not none else '') | string | trim) %}
    {% do return(suffix[16:] if suffix.startswith('change_tracking_') else suffix) %}
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
