{#- Run-operation (sys.sp_cdc_generate_wrapper_function): prints the scripts that make the wrapper functions by
    time of a capture instance, or of all, and gives them as rows: [{function_name, create_script}].
    `as_models` gives models instead, ready to paste. -#}
{% macro generate_wrapper_function(
    capture_instance=none, closed_high_end_point=true, column_list=none, update_flag_list=none, as_models=false
) %}
    {% if execute %}
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
        {% set functions, known = [], dbt_cdc._registered_if_any() %}
        {% set is_closed = closed_high_end_point in [true, 1, '1'] %}
        {% for name, instance in instances | dictsort
            if capture_instance is none or name == capture_instance | lower %}
            {% do dbt_cdc._take_registered(instance, known[name]) if name in known %}
            {% set columns = dbt_cdc._listed_columns(instance, column_list, 22918) %}
            {% set flags = dbt_cdc._listed_columns(instance, update_flag_list or [], 22919) %}
            {% for kind in ['all', 'net'] if kind == 'all' or instance.supports_net_changes %}
                {% set function = dbt_cdc._wrapper_name(kind, instance) %}
                {% set script = dbt_cdc._wrapper_model(function, instance, kind, is_closed, columns, flags)
                    if as_models else 'create function ' ~ function
                    ~ dbt_cdc._wrapper_function_sql(kind, instance, columns, flags, is_closed) %}
                {% do log(script if as_models else '-- ' ~ function ~ '\n' ~ script ~ ';\n', info=true) %}
                {% do functions.append({'function_name': function, 'create_script': script}) %}
            {% endfor %}
        {% endfor %}
        {% do return(functions) %}
    {% endif %}
{% endmacro %}


{#- The text of one model. Update flags of net changes need 'all with mask'. -#}
{% macro _wrapper_model(name, instance, kind, is_closed, columns, flags) %}
    {% set listed = (['`__CDC_STARTLSN`', '`__CDC_SEQVAL`'] if kind == 'all' else [])
        + dbt_cdc._quoted(columns) + ['`__CDC_OPERATION`'] %}
    {% for column in flags %}
        {% do listed.append(dbt_cdc._column(column ~ '_uflag')) %}
    {% endfor %}
    {% do return(
        '-- models/' ~ name ~ '.sql\nselect\n    ' ~ listed | join(',\n    ')
        ~ '\nfrom {' ~ '{ dbt_cdc.' ~ kind ~ "_changes_between(\n    '"
        ~ instance.name.replace('\\', '\\\\').replace("'", "\\'")
        ~ "',\n    start_time=var('start_time', none),\n    end_time=var('end_time', none),"
        ~ "\n    row_filter_option='" ~ ('all with mask' if kind == 'net' and flags else 'all')
        ~ "',\n    closed_high_end_point=" ~ is_closed | lower
        ~ (",\n    update_flag_list=" ~ tojson(flags) if flags else '') ~ '\n) }' ~ '}\n'
    ) %}
{% endmacro %}
