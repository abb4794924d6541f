{#- Run-operation (sys.sp_cdc_generate_wrapper_function): prints the scripts that make the wrapper functions by
    time of a capture instance, or of all, and gives them as rows: [{function_name, create_script}].
    `as_models` gives models instead, ready to paste. -#}
{% macro generate_wrapper_function(
    capture_instance=none, closed_high_end_point=true, column_list=none, update_flag_list=none, as_models=false
) %}
    {% if execute %}
        {% set as_models = dbt_cdc._as_boolean('as_models', as_models) %}
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
        {% set is_closed = dbt_cdc._as_boolean('closed_high_end_point', closed_high_end_point) %}
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
                {% do print(script if as_models else '-- ' ~ function ~ '\n' ~ script ~ ';\n') %}
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


{% macro _wrapper_name(kind, instance) %}
    {% do return('fn_' ~ kind ~ '_changes_' ~ dbt_cdc._object_name(instance.name)) %}
{% endmacro %}


{#- A function by time finds its commits when it runs: it reads the whole change table. `is_closed`: whether
    its window includes end_time. -#}
{% macro _wrapper_function_sql(kind, instance, columns, flags, is_closed) -%}
    {%- set window = dbt_cdc._function_window(kind, instance) -%}
    {%- set captured = instance.columns | map(attribute='name') | list -%}
    {%- set given = dbt_cdc._parameters(['row_filter_option'], captured, dbt_cdc._wrapper_name(kind, instance)) -%}
    {%- do window.update(
        by_time=true, start_time='start_time', end_time='end_time',
        is_closed=is_closed | lower,
        from_lsn="'" ~ dbt_cdc._zero_lsn() ~ "'",
        to_lsn="'0x" ~ 'F' * 20 ~ "'", option_sql='lower(trim(' ~ given.row_filter_option ~ '))',
        listed_columns=columns, flagged_columns=flags
    ) -%}
    {%- do window.update(commits=dbt_cdc._published_commits_of_times(window)) -%}
    (
        start_time timestamp default null,
        end_time timestamp default null,
        row_filter_option string default 'all'
    )
    returns table (
        {%- if kind == 'all' %}
        `__CDC_STARTLSN` string,
        `__CDC_SEQVAL` string,
        {%- endif %}
        {%- for column in columns %}
        {{ dbt_cdc._column(column) }} {{ dbt_cdc._expression_type(
            instance.columns[dbt_cdc._find_ordinal(instance.columns, column) - 1].data_type) }},
        {%- endfor %}
        `__CDC_OPERATION` string
        {%- for column in flags %},
        {{ dbt_cdc._column(column ~ '_uflag') }} boolean
        {%- endfor %}
    )
    return
    {{ dbt_cdc._wrapper_sql(kind, window) }}
{%- endmacro %}


{% macro _published_commits_of_times(window) -%}
    select mapping.start_lsn
    from {{ dbt_cdc._state_relation('lsn_time_mapping') }} as mapping
    inner join {{ dbt_cdc._validity_intervals() }} as intervals
        on
            lower(intervals.capture_instance) = {{ dbt_cdc._literal(window.capture_instance | lower) }}
            and mapping.start_lsn >= intervals.low_end
            and mapping.start_lsn <= intervals.high_end
    where
        {{ dbt_cdc._indent(dbt_cdc._is_in_times(window), 4) }}
{%- endmacro %}
