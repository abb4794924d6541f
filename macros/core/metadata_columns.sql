{#- The columns of a change table around the captured ones: name -> type. -#}
{% macro _metadata_columns() %}
    {% do return({
        '__$start_lsn': 'string',
        '__$end_lsn': 'string',
        '__$seqval': 'string',
        '__$operation': 'int',
        '__$update_mask': 'string',
        '__$command_id': 'int',
    }) %}
{% endmacro %}


{#- All columns of an instance's change table in physical order: name -> type. -#}
{% macro _change_table_columns(instance) %}
    {% set metadata = dbt_cdc._metadata_columns() %}
    {% set command_id = metadata.pop('__$command_id') %}
    {% for column in instance.columns %}
        {% do metadata.update({column.name: column.data_type}) %}
    {% endfor %}
    {% do metadata.update({'__$command_id': command_id}) %}
    {% do return(metadata) %}
{% endmacro %}


{#- The total order of changes. -#}
{% macro _change_order() -%}
    `__$start_lsn`, `__$command_id`, `__$seqval`, `__$operation`
{%- endmacro %}
