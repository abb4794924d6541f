{#- Run-operation: prints models that hold the wrapper functions by time of a capture instance, or of all,
    ready to paste. -#}
{% macro generate_wrapper_function(
    capture_instance=none, closed_high_end_point=true, column_list=none, update_flag_list=none
) %}
    {% if execute %}
        {% do log(dbt_cdc._wrapper_models(
            capture_instance, closed_high_end_point, column_list, update_flag_list), info=true) %}
    {% endif %}
{% endmacro %}


{% macro _wrapper_models(capture_instance, closed_high_end_point, column_list, update_flag_list) %}
    {% set instances = dbt_cdc._capture_instances() %}
    {% if capture_instance is none and (column_list is not none or update_flag_list is not none) %}
        {% do dbt_cdc.raise_cdc_error(
            22921, 'column_list or update_flag_list is given without a capture instance',
            'name one of ' ~ instances | sort | join(', ') ~ ', or leave the lists out'
        ) %}
    {% elif capture_instance is not none and capture_instance | lower not in instances %}
        {% do dbt_cdc.raise_cdc_error(
            22920, "capture instance '" ~ capture_instance ~ "' does not exist",
            'this project has ' ~ (instances | sort | join(', ') or 'none')
        ) %}
    {% endif %}
    {% set texts = [] %}
    {% for name, instance in instances | dictsort
        if capture_instance is none or name == capture_instance | lower %}
        {% set columns = dbt_cdc._listed_columns(instance, column_list, 22918) %}
        {% set flags = dbt_cdc._listed_columns(instance, update_flag_list or [], 22919) %}
        {% for kind in ['all', 'net'] if kind == 'all' or instance.supports_net_changes %}
            {% do texts.append(
                dbt_cdc._wrapper_model(instance, kind, closed_high_end_point, columns, flags)) %}
        {% endfor %}
    {% endfor %}
    {% do return(texts | join('\n')) %}
{% endmacro %}


{#- The text of one model. Update flags of net changes need 'all with mask'. -#}
{% macro _wrapper_model(instance, kind, closed_high_end_point, columns, flags) %}
    {% set lines = [] %}
    {% if kind == 'all' %}
        {% do lines.extend(['`__CDC_STARTLSN`', '`__CDC_SEQVAL`']) %}
    {% endif %}
    {% for column in columns %}
        {% do lines.append(dbt_cdc._column(column)) %}
    {% endfor %}
    {% do lines.append('`__CDC_OPERATION`') %}
    {% for column in flags %}
        {% do lines.append(dbt_cdc._column(column ~ '_uflag')) %}
    {% endfor %}
    {% set name = 'fn_' ~ kind ~ '_changes_' ~ instance.name | lower %}
    {% set option = 'all with mask' if kind == 'net' and flags else 'all' %}
    {% do return(
        '-- models/' ~ name ~ '.sql\nselect\n    ' ~ lines | join(',\n    ')
        ~ '\nfrom {' ~ '{ dbt_cdc.' ~ kind ~ "_changes_between(\n    '" ~ instance.name
        ~ "',\n    start_time=var('start_time', none),\n    end_time=var('end_time', none),"
        ~ "\n    row_filter_option='" ~ option ~ "',\n    closed_high_end_point="
        ~ closed_high_end_point | lower
        ~ (",\n    update_flag_list=" ~ tojson(flags) if flags else '') ~ '\n) }' ~ '}\n'
    ) %}
{% endmacro %}
