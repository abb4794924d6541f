{#- What the materializations replica and history share. -#}

{#- The consumer with makes_table (its content begins with this run) and has_news. -#}
{% macro _materialized_consumer() %}
    {% set consumer = dbt_cdc._resolved_consumer() %}
    {% do dbt_cdc.raise_cdc_error(
        22938,
        config.get('materialized') ~ ' ' ~ model.name ~ ' does not take its rows from new_changes',
        "write select * from {{ dbt_cdc.new_changes('<capture_instance>') }}"
    ) if not consumer %}
    {% set firsts = consumer.windows.values() | map(attribute='is_first') | list %}
    {% set news = consumer.windows.values() | selectattr('has_news') | list %}
    {% do consumer.update(
        makes_table=not consumer.is_there or (true in firsts and dbt_cdc._is_building()),
        has_news=news and dbt_cdc._is_building()
    ) %}
    {% do dbt_cdc.raise_cdc_error(
        313, consumer.kind ~ ' ' ~ consumer.name ~ ' takes one more capture instance than before',
        dbt_cdc._rebuild_command(consumer.name) ~ ' builds it anew from all of them'
    ) if true in firsts and false in firsts %}
    {% do return(consumer) %}
{% endmacro %}


{#- What the model's rows have beside the metadata that is `needed`: lower-case name -> {name, quoted,
    type}; into `present` goes what the table has, lower-case name -> type: one question tells both, the
    table's columns after one that is called `__$present`. -#}
{% macro _columns_of_changes(changes, needed, table, present) %}
    {% set columns, metadata = {}, [] %}
    {% set described = 'select changes.*, 1 as `__$present`, present.* from (\n' ~ changes
        ~ '\n) as changes cross join ' ~ table ~ ' as present' if table else changes %}
    {% for row in run_query('describe query ' ~ described).rows %}
        {% if '__$present' in metadata %}
            {% do present.update({row[0] | lower: row[1] | lower}) %}
        {% elif row[0].startswith('__$') %}
            {% do metadata.append(row[0] | lower) %}
        {% else %}
            {% do columns.update({row[0] | lower: {
                'name': row[0], 'quoted': dbt_cdc._column(row[0]), 'type': row[1]
            }}) %}
        {% endif %}
    {% endfor %}
    {% set missing = needed | reject('in', metadata) | list %}
    {% do dbt_cdc.raise_cdc_error(
        22938, config.get('materialized') ~ ' ' ~ model.name ~ ' lacks '
        ~ (missing or ['columns']) | join(', ') ~ ' in its rows',
        'select them from new_changes as well (select * does)'
    ) if missing or not columns %}
    {% do return(columns) %}
{% endmacro %}


{#- The instance whose partial images may leave values unknown; none where there is none. -#}
{% macro _partial_instance(consumer) %}
    {% set instance = (consumer.windows.values() | list)[0].instance %}
    {% do return(
        instance if consumer.windows | length == 1 and instance.before_image == 'partial' else none
    ) %}
{% endmacro %}


{#- The same, where the column is one of that instance. -#}
{% macro _partial_instance_of(column, consumer) %}
    {% set instance = dbt_cdc._partial_instance(consumer) %}
    {% do return(
        instance if instance and dbt_cdc._find_ordinal(instance.columns, column.name) is not none else none
    ) %}
{% endmacro %}


{#- A source's types may have widened. Other columns than before are an edit of the model: new ones are
    added where on_schema_change says so. So is a type that the table's does not hold: the MERGE would cast it. -#}
{% macro _follow_columns(relation, columns, present) %}
    {% set widened = {} %}
    {% set names = columns | map(attribute='name') | map('lower') | list %}
    {% set added, added_names = [], [] %}
    {% for column in columns if column.name | lower not in present
        and config.get('on_schema_change') in ['append_new_columns', 'sync_all_columns'] %}
        {% do added_names.append(column.name) %}
        {% do added.append(dbt_cdc._column(column.name) ~ ' ' ~ column.type) %}
        {% do present.update({column.name | lower: column.type | lower}) %}
    {% endfor %}
    {% do dbt_cdc.raise_cdc_error(
        22930, 'model ' ~ model.name ~ ' has the columns ' ~ names | join(', ') ~ ', its table '
        ~ present.keys() | join(', '),
        'take the edit back, or ' ~ dbt_cdc._rebuild_command(dbt_cdc._consumer_name(model)) ~ ' builds it anew; '
        ~ "new columns are added with on_schema_change='append_new_columns'"
    ) if names | sort != present.keys() | sort %}
    {% for column in columns if column.type | lower != present[column.name | lower] %}
        {% set now, wanted = present[column.name | lower], column.type | lower %}
        {% if dbt_cdc._widens_to(now, wanted) %}
            {% do widened.update({column.name: column.type}) %}
        {% elif not dbt_cdc._holds_type(now, wanted) %}
            {% do dbt_cdc._raise_would_be_cut(column.name, wanted, now) %}
        {% endif %}
    {% endfor %}
    {% for property, value in dbt_cdc._table_properties(added_names).items() %}
        {% do run_query('alter table ' ~ relation ~ " set tblproperties ('" ~ property ~ "' = '" ~ value ~ "')") %}
    {% endfor %}
    {% do run_query('alter table ' ~ relation ~ ' add columns (' ~ added | join(', ') ~ ')') if added %}
    {% do dbt_cdc._alter_types(relation, widened) %}
{% endmacro %}


{% macro _raise_would_be_cut(name, wanted, now) %}
    {% do dbt_cdc.raise_cdc_error(
        22930, 'model ' ~ model.name ~ ' has ' ~ name ~ ' as ' ~ wanted ~ ', its table as ' ~ now
        ~ ', as which its values would be cut', 'take the edit back, or cast it to ' ~ now
        ~ '; or ' ~ dbt_cdc._rebuild_command(dbt_cdc._consumer_name(model)) ~ ' builds the table anew'
    ) %}
{% endmacro %}


{#- A column for a new table. Spark would keep the length of a varchar or char, which it says nowhere, and the table
    could not follow a source that widens it. -#}
{% macro _unbounded(column) -%}
    {{ 'cast(' ~ column.quoted ~ ' as string) as ' ~ column.quoted if column.type == 'string' else column.quoted }}
{%- endmacro %}
