{#- The persistent functions around update masks: name -> the rest of `create function`. -#}
{% macro _mask_functions() %}
    {% do return({
        'fn_cdc_get_column_ordinal': '(capture_instance_name string, captured_column string) '
            ~ 'returns int return ' ~ dbt_cdc._column_ordinal_sql(),
        'fn_cdc_is_bit_set': '(position int, update_mask string) returns boolean return '
            ~ dbt_cdc.is_bit_set('position', 'update_mask'),
        'fn_cdc_has_column_changed': '(capture_instance_name string, captured_column string, '
            ~ 'update_mask string) returns boolean return ' ~ dbt_cdc._has_column_changed_sql(),
    }) %}
{% endmacro %}


{% macro _column_ordinal_sql() -%}
    (
        select max(columns.column_ordinal)
        from {{ dbt_cdc._state_relation('captured_columns') }} as columns
        inner join {{ dbt_cdc._state_relation('change_tables') }} as tables
            on columns.object_id = tables.object_id
        where
            lower(tables.capture_instance) = lower(capture_instance_name)
            and lower(columns.column_name) = lower(captured_column)
    )
{%- endmacro %}


{#- An unknown column is an error: NULL would leave out every row in silence. -#}
{% macro _has_column_changed_sql() -%}
    {{ dbt_cdc._function_name('fn_cdc_is_bit_set') }}(
        coalesce(
            {{ dbt_cdc._function_name('fn_cdc_get_column_ordinal') }}(
                capture_instance_name, captured_column
            ),
            raise_error(concat(
                'CDC 22918: capture instance \'', coalesce(capture_instance_name, 'NULL'),
                '\' does not exist or does not capture a column \'',
                coalesce(captured_column, 'NULL'),
                {{ dbt_cdc._literal("'" ~ dbt_cdc._advice('take one of captured_columns')) }}
            ))
        ),
        update_mask
    )
{%- endmacro %}
