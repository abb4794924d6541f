{#- Enters new capture instances into change_tables, captured_columns and index_columns. An instance
    counts as entered with its row in change_tables, the last of the three statements. -#}
{% macro _register_instances(window) %}
    {% set known = dbt_cdc._registered_columns() %}
    {% set new = [] %}
    {% for name, instance in dbt_cdc._capture_instances().items() %}
        {% if name not in known %}
            {% do new.append(instance) %}
        {% else %}
            {% do dbt_cdc._check_unedited(instance, known[name]) %}
        {% endif %}
    {% endfor %}
    {% if not known %}
        {% do dbt_cdc._enter_jobs() %}
    {% endif %}
    {% if new %}
        {% set log_start = dbt_cdc._fetch(
            'select min(lsn) as lsn from ' ~ dbt_cdc._log_relation()
        )[0].lsn %}
        {% for table in ['captured_columns', 'index_columns', 'change_tables'] %}
            {% set target = dbt_cdc._state_relation(table) %}
            {% set values = dbt_cdc['_' ~ table ~ '_values'](new, window, log_start) %}
            {% if values %}
                {% do run_query(dbt_cdc._enter_sql(target, values)) %}
            {% endif %}
        {% endfor %}
    {% endif %}
{% endmacro %}


{#- Rows that a killed run has left without their change_tables row are not entered twice. -#}
{% macro _enter_sql(target, values) -%}
    {%- set rows = 'select * from values ' ~ values | join(', ') -%}
    {{ dbt_cdc._insert_once(
        target, rows,
        'not exists (select 1 from ' ~ target ~ ' as present where present.object_id = col1)'
    ) }}
{%- endmacro %}


{#- Stable positive numbers for a name: SQL Server's object ids have no counterpart on Spark. -#}
{% macro _object_id(name) %}
    {% do return(local_md5(name | lower)[:8] | int(base=16) % 2147483647) %}
{% endmacro %}


{% macro _change_tables_values(instances, window, log_start) %}
    {% set values = [] %}
    {% for instance in instances %}
        {% set starts_at_log_start = instance.capture_from == 'log_start'
            or window.previous_lsn == dbt_cdc._zero_lsn() %}
        {% set start_lsn = log_start if starts_at_log_start
            else dbt_cdc.increment_lsn(window.previous_lsn) %}
        {% do values.append('(' ~ [
            dbt_cdc._object_id(instance.name ~ '_ct'), 0, dbt_cdc._object_id(instance.table),
            dbt_cdc._literal(instance.name), dbt_cdc._literal(start_lsn),
            'cast(null as string)', instance.supports_net_changes | lower, 'false',
            dbt_cdc._literal(instance.role_name), 'cast(null as string)', 'cast(null as string)',
            'current_timestamp()', 'true',
            dbt_cdc._literal(instance.source_schema), dbt_cdc._literal(instance.source_name),
        ] | join(', ') ~ ')') %}
    {% endfor %}
    {% do return(values) %}
{% endmacro %}


{% macro _captured_columns_values(instances, window, log_start) %}
    {% set values = [] %}
    {% for instance in instances %}
        {% for column in instance.columns %}
            {% do values.append('(' ~ [
                dbt_cdc._object_id(instance.name ~ '_ct'), dbt_cdc._literal(column.name),
                loop.index, dbt_cdc._literal(column.data_type | lower), loop.index, 'false',
                'cast(null as string)',
            ] | join(', ') ~ ')') %}
        {% endfor %}
    {% endfor %}
    {% do return(values) %}
{% endmacro %}


{% macro _index_columns_values(instances, window, log_start) %}
    {% set values = [] %}
    {% for instance in instances %}
        {% set names = instance.columns | map(attribute='name') | list %}
        {% for column in instance.index_columns %}
            {% do values.append('(' ~ [
                dbt_cdc._object_id(instance.name ~ '_ct'), dbt_cdc._literal(column), loop.index,
                names.index(column) + 1,
            ] | join(', ') ~ ')') %}
        {% endfor %}
    {% endfor %}
    {% do return(values) %}
{% endmacro %}


{#- Instance name -> [[column, type], ...] as entered. -#}
{% macro _registered_columns() %}
    {% set rows = dbt_cdc._fetch(
        'select lower(t.capture_instance) as name, to_json(array_sort(collect_list('
        ~ 'struct(c.column_ordinal, c.column_name, c.column_type)))) as columns'
        ~ ' from ' ~ dbt_cdc._state_relation('change_tables') ~ ' as t'
        ~ ' left join ' ~ dbt_cdc._state_relation('captured_columns') ~ ' as c'
        ~ ' on t.object_id = c.object_id group by 1'
    ) %}
    {% set known = {} %}
    {% for row in rows %}
        {% do known.update({row.name: fromjson(row.columns)}) %}
    {% endfor %}
    {% do return(known) %}
{% endmacro %}


{#- The columns of an instance are fixed when it is made: another list needs another instance. -#}
{% macro _check_unedited(instance, registered) %}
    {% set given = [] %}
    {% for column in instance.columns %}
        {% do given.append(column.name ~ ' ' ~ column.data_type | lower) %}
    {% endfor %}
    {% set fixed = [] %}
    {% for column in registered %}
        {% do fixed.append(column.column_name ~ ' ' ~ column.column_type) %}
    {% endfor %}
    {% if given != fixed %}
        {% do dbt_cdc.raise_cdc_error(
            22930, "the columns of capture instance '" ~ instance.name ~ "' were edited: it captures ("
            ~ fixed | join(', ') ~ '), its YAML lists (' ~ given | join(', ') ~ ')',
            'take the edit back, or make a second instance of the table with the new columns'
        ) %}
    {% endif %}
{% endmacro %}
