{#- How rows come into state tables and change there. -#}

{#- Rows, as dictionaries, into a state table; what they lack is NULL. With `is_there`, a condition on the target's
    rows in which `appended` is the new one, each is entered once (docs/decisions/0001). -#}
{% macro _insert_state(table, rows, is_there=none) %}
    {% set insert = dbt_cdc._guarded_insert(
        dbt_cdc._state_relation(table), dbt_cdc._state_rows(table, rows), is_there) %}
    {% do run_query(dbt_cdc._in_turn(insert) if is_there else insert) if rows %}
{% endmacro %}


{#- All rows, or those of a condition. -#}
{% macro _delete_state(table, where=none) %}
    {% do run_query(dbt_cdc._in_turn(
        'delete from ' ~ dbt_cdc._state_relation(table) ~ (' where ' ~ where if where else ''))) %}
{% endmacro %}


{#- Columns that a table got since an older version has made it; `known`: those that it has. Of several threads one adds
    them. -#}
{% macro _add_missing_columns(table, known) %}
    {% set columns = [] %}
    {% for column in graph.nodes['model.dbt_cdc.' ~ table].columns.values() if column.name not in known %}
        {% do columns.append(column.name ~ ' ' ~ column.data_type) %}
    {% endfor %}
    {% do run_query('begin declare exit handler for sqlexception begin end; alter table '
        ~ dbt_cdc._state_relation(table) ~ ' add columns (' ~ columns | join(', ') ~ '); end') if columns %}
{% endmacro %}


{#- `values`: SQL by column. `unless`: a query that has a row where others are further. -#}
{% macro _update_state(table, values, where, unless=none) %}
    {% set update = dbt_cdc._update_state_sql(table, values, where) %}
    {% do run_query(dbt_cdc._in_turn(
        dbt_cdc._unless_exists(unless, update) if unless else update)) if values %}
{% endmacro %}


{% macro _update_state_sql(table, values, where) -%}
update {{ dbt_cdc._state_relation(table) }}
set {% for name, value in values.items() %}{{ name }} = {{ value }}{{ ', ' if not loop.last }}{% endfor %}
where {{ where }}
{%- endmacro %}


{#- The columns and their types are those of the table's model. -#}
{% macro _state_rows(table, rows) -%}
    {%- set columns = graph.nodes['model.dbt_cdc.' ~ table].columns.values() | list -%}
select * from values
    {%- for row in rows %}
    ({% for column in columns %}
        {{- dbt_cdc._state_value(row.get(column.name), column.data_type) }}{{ ', ' if not loop.last }}
    {%- endfor %}){{ ',' if not loop.last }}
    {%- endfor %}
    as entered ({{ columns | map(attribute='name') | join(', ') }})
{%- endmacro %}


{#- A value as SQL, NULL where the row has none; the time 'now' is Spark's word for it. -#}
{% macro _state_value(value, data_type) -%}
    {%- if value is none or value is undefined -%} cast(null as {{ data_type }})
    {%- elif data_type == 'string' -%} {{ dbt_cdc._literal(value) }}
    {%- elif data_type == 'timestamp' -%} timestamp'{{ value }}'
    {%- elif data_type == 'bigint' -%} {{ value }}L
    {%- elif data_type.startswith('array') -%} from_json({{ dbt_cdc._literal(tojson(value)) }}, '{{ data_type }}')
    {%- else -%} {{ value | lower }}
    {%- endif -%}
{%- endmacro %}
