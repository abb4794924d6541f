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
        instances.* except (create_date),
        cast(instances.create_date as string) as create_date,
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


{#- Metadata tables may not be there yet. -#}
{% macro _registered_if_any(mapping=none) %}
    {% do return(
        dbt_cdc._registered_state(dbt_cdc._fetch(dbt_cdc._registered_state_sql(mapping)))
        if load_cached_relation(dbt_cdc._state_beside(mapping, 'change_tables')) is not none else {}
    ) %}
{% endmacro %}


{#- An instance is fixed when it is made; only its types follow the source, and its YAML may say the old
    or the new ones, or wider ones where the log has no DDL that tells them. Until it has captured a row and is
    published, its types are those of its YAML: a first bad record tells that one is wrong. -#}
{% macro _check_unedited(instance, registered, is_published=true) %}
    {% do dbt_cdc.raise_cdc_error(
        22981, "capture instance '" ~ instance.name ~ "' has no columns in captured_columns, as where "
        ~ 'disable_table was stopped', dbt_cdc._begin_anew_advice(registered, 'let it end, and ')
    ) if not registered.columns %}
    {% set given, fixed, is_same, is_same_type = [], [], [], [] %}
    {% for column in instance.columns %}
        {% set data_type = column.data_type | lower %}
        {% set known = registered.columns[loop.index0] if loop.index0 < registered.columns | length else {} %}
        {% do given.append(column.name ~ ' ' ~ data_type ~ (' computed' if dbt_cdc._is_computed(column))) %}
        {% do is_same.append(
            column.name | lower == known.get('column_name') | lower
            and dbt_cdc._is_computed(column) == (known.get('is_computed') or false)
        ) %}
        {% do is_same_type.append(
            not known or data_type in [known.get('column_type'), known.get('declared_type')]
            or dbt_cdc._widens_to(known.get('column_type'), data_type)
        ) %}
    {% endfor %}
    {% for column in registered.columns %}
        {% do fixed.append(
            column.column_name ~ ' ' ~ column.column_type ~ (' computed' if column.get('is_computed'))) %}
    {% endfor %}
    {% set edits = [] %}
    {% if given | length != fixed | length or false in is_same
        or false in is_same_type and (is_published or dbt_cdc._has_rows(instance.relation)) %}
        {% do edits.append((22930, 'columns', fixed, given)) %}
    {% elif instance.index_columns | map('lower') | list != registered.index_columns | map('lower') | list %}
        {% do edits.append((22983, 'index_columns', registered.index_columns, instance.index_columns)) %}
    {% elif instance.table != registered.source_schema ~ '.' ~ registered.source_name %}
        {% do edits.append((22960, 'source table',
            [registered.source_schema ~ '.' ~ registered.source_name], [instance.table])) %}
    {% elif instance.supports_net_changes != registered.supports_net_changes %}
        {% do edits.append((22939, 'supports_net_changes', [registered.supports_net_changes],
            [instance.supports_net_changes])) %}
    {% endif %}
    {#- rows that were captured as partial would be read as whole -#}
    {% for what, less in dbt_cdc._untold_by().items() if registered.get(what) == less and instance[what] != less %}
        {% do edits.append((22963, what, [less], [instance[what]])) %}
    {% endfor %}
    {% for number, what, fixed, given in edits %}
        {% do dbt_cdc.raise_cdc_error(
            number, 'the ' ~ what ~ " of capture instance '" ~ instance.name ~ "' were edited: it captures ("
            ~ fixed | join(', ') ~ '), its YAML lists (' ~ given | join(', ') ~ ')',
            'take the edit back, or ' ~ ('make a second instance of the table with the new ' ~ what if is_published
                else dbt_cdc._begin_anew_advice(registered))
        ) %}
    {% endfor %}
{% endmacro %}


{#- The settings by which a row may lack values, and what they are then. -#}
{% macro _untold_by() %}
    {% do return({'before_image': 'partial', 'lob_before_image': 'when_changed'}) %}
{% endmacro %}


{#- Once one of these is edited so, the rows of an instance may lack values for good. -#}
{% macro _note_untold(instances, known) %}
    {% do dbt_cdc._add_missing_columns('change_tables', (known.values() | list)[0]) if known %}
    {% for what, less in dbt_cdc._untold_by().items() %}
        {% set names = [] %}
        {% for name, instance in instances.items()
            if name in known and instance[what] == less and known[name].get(what) != less %}
            {% do names.append(name) %}
        {% endfor %}
        {% do dbt_cdc._update_state('change_tables', {what: dbt_cdc._literal(less)},
            'lower(capture_instance) in (' ~ dbt_cdc._literals(names) ~ ')') if names %}
    {% endfor %}
{% endmacro %}


{% macro _has_rows(relation) %}
    {% do return(dbt_cdc._with_rows([relation]) != []) %}
{% endmacro %}


{#- The names of those that are there and have rows, by one statement. -#}
{% macro _with_rows(relations) %}
    {% set queries = [] %}
    {% for relation in relations if load_cached_relation(relation) is not none %}
        {% do queries.append(
            '(select ' ~ dbt_cdc._literal(relation | string) ~ ' as name from ' ~ relation ~ ' limit 1)') %}
    {% endfor %}
    {% do return(dbt_cdc._fetch(queries | join(' union all ')) | map(attribute='name') | list if queries else []) %}
{% endmacro %}


{#- What nobody has read yet can begin anew, also what its readers are told of. -#}
{% macro _begin_anew_advice(registered, why='as nothing of it is published yet, ') %}
    {% do return(why ~ 'begin anew: ' ~ dbt_cdc._disable_command(registered) ~ ', and run again') %}
{% endmacro %}


{% macro _disable_command(registered) %}
    {% set arguments = '{source_schema: ' ~ dbt_cdc._yaml_text(registered.source_schema) ~ ', source_name: '
        ~ dbt_cdc._yaml_text(registered.source_name) ~ ', capture_instance: '
        ~ dbt_cdc._yaml_text(registered.capture_instance) ~ ', dry_run: false}' %}
    {% do return('dbt run-operation disable_table --args ' ~ dbt_cdc._shell_text(arguments)) %}
{% endmacro %}


{#- As long as its model is there, an instance is entered anew in the window that stands open. -#}
{% macro _capture_anew_advice(disable) %}
    {% do return('capture the table anew, without this window: ' ~ disable ~ ', delete from the project what that '
        ~ 'names (models, YAML, names in cdc_capture_instances), dbt run, and enable_table') %}
{% endmacro %}


{#- An instance that the metadata tables know, or error 22981. -#}
{% macro _find_registered(capture_instance) %}
    {% set known = dbt_cdc._registered_if_any() %}
    {% set instance = known.get((capture_instance or '') | string | lower) %}
    {% do dbt_cdc.raise_cdc_error(
        22981, "capture instance '" ~ (capture_instance or 'NULL') ~ "' does not exist",
        'there are ' ~ (known.keys() | sort | join(', ') or 'none')
    ) if not instance %}
    {% do return(instance) %}
{% endmacro %}


{#- The instances that are entered, also those whose models are gone: [{capture_instance, low_end,
    source_schema, source_name, end_lsn, lost_lsn, relation}]. -#}
{% macro _registered_instances(condition='true') %}
    {% set found = [] %}
    {% for row in dbt_cdc._fetch(
        dbt_cdc._registered_instances_sql() ~ ' where ' ~ condition ~ ' order by capture_instance'
    ) %}
        {% do found.append(dict(row, relation=dbt_cdc._change_table_of(row.capture_instance))) %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{% macro _registered_instances_sql() -%}
    select capture_instance, start_lsn as low_end, source_schema, source_name, end_lsn, lost_lsn
    from {{ dbt_cdc._state_relation('change_tables') }}
{%- endmacro %}


{% macro _change_table_of(capture_instance) %}
    {% set instance = dbt_cdc._capture_instances().get(capture_instance | lower) %}
    {% do return(
        instance.relation if instance
        else dbt_cdc._validity_intervals().incorporate(
            path={'identifier': dbt_cdc._object_name(capture_instance) ~ '_ct'}, type='table')
    ) %}
{% endmacro %}


{#- In the order in which they were made: a low end moves with each cleanup. -#}
{% macro _old_and_new(instances) %}
    {% do return(instances | sort(attribute='create_date,start_lsn')) %}
{% endmacro %}
