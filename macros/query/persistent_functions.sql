{#- The query functions under SQL Server's names, for anyone with a SQL prompt. They are made before
    the publication in which an instance first appears. -#}

{#- Run-operation: makes all persistent functions anew, e.g. after an update of the package. -#}
{% macro create_functions() %}
    {% do dbt_cdc._declare_state() %}
    {% if execute %}
        {% set names = dbt_cdc._create_functions(dbt_cdc._capture_instances().values() | list) %}
        {% for name in names %}
            {% do log('created ' ~ name, info=true) %}
        {% endfor %}
    {% endif %}
{% endmacro %}


{% macro _create_functions(instances) %}
    {% set names = [] %}
    {% set statements = dbt_cdc._lsn_function_statements() %}
    {% for instance in instances %}
        {% do statements.update({
            'fn_cdc_get_all_changes_' ~ instance.name | lower:
                dbt_cdc._query_function_sql('all', instance)
        }) %}
        {% if instance.supports_net_changes %}
            {% do statements.update({
                'fn_cdc_get_net_changes_' ~ instance.name | lower:
                    dbt_cdc._query_function_sql('net', instance)
            }) %}
        {% endif %}
    {% endfor %}
    {% for name, statement in statements.items() %}
        {% set full_name = dbt_cdc._validity_intervals().schema ~ '.' ~ name %}
        {% do run_query('create or replace function ' ~ full_name ~ statement) %}
        {% do names.append(full_name) %}
    {% endfor %}
    {% do return(names) %}
{% endmacro %}


{% macro _query_function_sql(kind, instance) -%}
    {%- set window = dbt_cdc._function_window(kind, instance) -%}
    {%- do window.update(
        from_lsn=dbt_cdc._normalized_lsn_sql('from_lsn'),
        to_lsn=dbt_cdc._normalized_lsn_sql('to_lsn'),
        option_sql='lower(trim(row_filter_option))'
    ) -%}
    {%- set metadata = dbt_cdc._metadata_columns() -%}
    (from_lsn string, to_lsn string, row_filter_option string)
    returns table (
        `__$start_lsn` string,
        {%- if kind == 'all' %}
        `__$seqval` string,
        {%- endif %}
        `__$operation` int,
        `__$update_mask` string
        {%- for column in instance.columns %},
        {{ dbt_cdc._column(column.name) }} {{ dbt_cdc._expression_type(column.data_type) }}
        {%- endfor %}
    )
    return
    {{ dbt_cdc._all_changes_sql(window) if kind == 'all' else dbt_cdc._net_changes_sql(window) }}
{%- endmacro %}


{% macro _lsn_function_statements() %}
    {% set view = dbt_cdc._validity_intervals() %}
    {% do return({
        'fn_cdc_get_min_lsn': "(capture_instance_name string) returns string return coalesce(("
            ~ 'select max(low_end) from ' ~ view
            ~ ' where lower(capture_instance) = lower(capture_instance_name)), \''
            ~ dbt_cdc._zero_lsn() ~ "')",
        'fn_cdc_get_max_lsn': '() returns string return (select max(high_end) from ' ~ view ~ ')',
        'fn_cdc_increment_lsn': '(lsn string) returns string return ' ~ dbt_cdc._shift_lsn_sql(1),
        'fn_cdc_decrement_lsn': '(lsn string) returns string return ' ~ dbt_cdc._shift_lsn_sql(-1),
    }) %}
{% endmacro %}


{#- An LSN is moved as two numbers of 40 bits, with a carry between them. -#}
{% macro _shift_lsn_sql(step) -%}
    {%- set name = 'fn_cdc_' ~ ('increment' if step == 1 else 'decrement') ~ '_lsn' -%}
    {%- set high = "cast(conv(substr(lsn, 3, 10), 16, 10) as bigint)" -%}
    {%- set low = "cast(conv(substr(lsn, 13, 10), 16, 10) as bigint)" -%}
    {%- set last = '0x' ~ ('F' if step == 1 else '0') * 20 -%}
    case
        when lsn is null then null
        when not lsn rlike '^0[xX][0-9a-fA-F]{20}$' then raise_error(concat(
            'CDC 313: {{ name }}: \'', lsn, '\' is not an LSN: give 0x and 20 hexadecimal digits'))
        when upper(lsn) = upper('{{ last }}') then raise_error(
            'CDC 313: {{ name }} of {{ last }} leaves the range of LSNs: there is none after it')
        else concat(
            '0x',
            lpad(hex({{ high }} + {% if step == 1 -%}
                if({{ low }} = 1099511627775, 1, 0)
                {%- else -%} if({{ low }} = 0, -1, 0) {%- endif %}), 10, '0'),
            lpad(hex(pmod({{ low }} + {{ step }}, 1099511627776)), 10, '0')
        )
    end
{%- endmacro %}
