{#- Run-operation (sys.sp_cdc_get_captured_columns): prints an instance's columns, with their types as the
    change table has them now. -#}
{% macro get_captured_columns(capture_instance) %}
    {% if execute %}
        {% set instance = dbt_cdc._find_registered(capture_instance) %}
        {% set rows = [] %}
        {% for column in instance.columns %}
            {% do rows.append(dict(
                source_schema=instance.source_schema, source_table=instance.source_name,
                capture_instance=instance.capture_instance, column_name=column.column_name,
                column_id=column.column_id, column_ordinal=column.column_ordinal,
                **dbt_cdc._type_facts(column.column_type)
            )) %}
        {% endfor %}
        {% do dbt_cdc._print_rows(rows) %}
    {% endif %}
{% endmacro %}


{#- What SQL Server tells of a type, of Spark's. -#}
{% macro _type_facts(data_type) %}
    {% set family = dbt_cdc._type_family(data_type) %}
    {% set is_exact = family in ['integer', 'decimal'] %}
    {% set digits = dbt_cdc._type_digits(data_type) if is_exact else [none, none] %}
    {% set binary_digits = 24 if data_type in ['float', 'real'] else 53 %}
    {% do return({
        'data_type': data_type,
        'character_maximum_length': dbt_cdc._type_size(data_type) if family == 'text'
            else -1 if family in ['string', 'binary'] else none,
        'numeric_precision': digits[0] + digits[1] if is_exact
            else binary_digits if family == 'float' else none,
        'numeric_precision_radix': 10 if is_exact else 2 if family == 'float' else none,
        'numeric_scale': digits[1],
        'datetime_precision': 6 if family == 'timestamp' else 0 if family == 'date' else none,
    }) %}
{% endmacro %}
