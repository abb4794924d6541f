{#- What the metadata tables hold of each instance, by lower-case name: {capture_instance, source_schema,
    source_name, supports_net_changes, has_drop_pending, start_lsn, end_lsn, columns, index_columns}. -#}
{% macro _registered_state(rows) %}
    {% set known = {} %}
    {% for row in rows %}
        {% do known.update({row.capture_instance | lower: dict(
            row,
            columns=fromjson(row.columns),
            index_columns=fromjson(row.index_columns) | map(attribute='column_name') | list
        )}) %}
    {% endfor %}
    {% do return(known) %}
{% endmacro %}


{% macro _registered_state_sql(mapping=none) -%}
    select
        instances.*,
        to_json(coalesce(columns.columns, array())) as columns,
        to_json(coalesce(keys.columns, array())) as index_columns
    from {{ dbt_cdc._state_beside(mapping, 'change_tables') }} as instances
    left join (
        select
            object_id,
            array_sort(collect_list(
                struct(
                    column_ordinal, column_name, column_type, declared_type, source_type, is_computed, column_id
                )
            )) as columns
        from {{ dbt_cdc._state_beside(mapping, 'captured_columns') }}
        group by object_id
    ) as columns on instances.object_id = columns.object_id
    left join (
        select
            object_id,
            array_sort(collect_list(struct(index_ordinal, column_name))) as columns
        from {{ dbt_cdc._state_beside(mapping, 'index_columns') }}
        group by object_id
    ) as keys on instances.object_id = keys.object_id
{%- endmacro %}


{#- An instance is fixed when it is made; only its types follow the source, and its YAML may say the old
    or the new ones, or wider ones where the log has no DDL that tells them. -#}
{% macro _check_unedited(instance, registered) %}
    {% set given, fixed, is_same = [], [], [] %}
    {% for column in instance.columns %}
        {% set data_type = column.data_type | lower %}
        {% set known = registered.columns[loop.index0] if loop.index0 < registered.columns | length else {} %}
        {% do given.append(column.name ~ ' ' ~ data_type ~ (' computed' if dbt_cdc._is_computed(column))) %}
        {% do is_same.append(
            column.name | lower == known.get('column_name') | lower
            and (data_type in [known.get('column_type'), known.get('declared_type')]
                or dbt_cdc._widens_to(known.get('column_type'), data_type))
            and dbt_cdc._is_computed(column) == (known.get('is_computed') or false)
        ) %}
    {% endfor %}
    {% for column in registered.columns %}
        {% do fixed.append(
            column.column_name ~ ' ' ~ column.column_type ~ (' computed' if column.get('is_computed'))) %}
    {% endfor %}
    {% if given | length != fixed | length or false in is_same %}
        {% do dbt_cdc._raise_edited(instance, 22930, 'columns', fixed, given) %}
    {% elif instance.index_columns | map('lower') | list != registered.index_columns | map('lower') | list %}
        {% do dbt_cdc._raise_edited(
            instance, 22983, 'index_columns', registered.index_columns, instance.index_columns) %}
    {% elif instance.table != registered.source_schema ~ '.' ~ registered.source_name %}
        {% do dbt_cdc._raise_edited(
            instance, 22960, 'source table',
            [registered.source_schema ~ '.' ~ registered.source_name], [instance.table]) %}
    {% elif instance.supports_net_changes != registered.supports_net_changes %}
        {% do dbt_cdc._raise_edited(
            instance, 22939, 'supports_net_changes', [registered.supports_net_changes],
            [instance.supports_net_changes]) %}
    {% endif %}
{% endmacro %}


{% macro _raise_edited(instance, number, what, fixed, given) %}
    {% do dbt_cdc.raise_cdc_error(
        number, 'the ' ~ what ~ " of capture instance '" ~ instance.name ~ "' were edited: it captures ("
        ~ fixed | join(', ') ~ '), its YAML lists (' ~ given | join(', ') ~ ')',
        'take the edit back, or make a second instance of the table with the new ' ~ what
    ) %}
{% endmacro %}
