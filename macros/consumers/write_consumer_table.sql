{#- How the materializations replica and history write: the table at once, or one MERGE into it. `needed`: the
    metadata that the rows must have; `added`: the columns that the materialization adds. -#}
{% macro _write_consumer(relation, consumer, changes, needed, added=[]) %}
    {% do dbt_cdc._check_keeps_rows(consumer, changes) %}
    {% if consumer.makes_table or consumer.has_news %}
        {% set present = {} %}
        {% set columns = dbt_cdc._columns_of_changes(
            changes, needed + (['__$update_mask'] if dbt_cdc._partial_instance(consumer) else []),
            none if consumer.makes_table else relation, present) %}
        {% do dbt_cdc._check_added_columns(consumer, columns, added) %}
        {% do dbt_cdc._check_key_of_instance(
            consumer, columns, dbt_cdc._consumer_key(consumer, columns), changes) %}
        {% set changes = dbt_cdc._with_operations(consumer, changes, columns) %}
        {% set rows = dbt_cdc['_' ~ consumer.kind ~ '_rows'](columns, changes, consumer) %}
        {% do get_assert_columns_equivalent(rows) if (config.get('contract') or {}).enforced %}
    {% endif %}
    {% if consumer.makes_table %}
        {% set existing = load_cached_relation(relation) %}
        {% do adapter.drop_relation(existing) if existing and not dbt_cdc._has_history(existing) %}
        {% call statement('main') -%}
            {{ dbt_cdc._create_as_sql(relation, columns, rows, consumer) }}
        {%- endcall %}
    {% elif consumer.has_news %}
        {% do dbt_cdc._follow_columns(relation, columns.values() | list + added, present) %}
        {% set merge = dbt_cdc['_' ~ consumer.kind ~ '_merge'](relation, columns, changes, consumer) %}
        {% call statement('main') -%}
            {{ dbt_cdc._write_once(dbt_cdc._while_open(consumer, merge), changes) }}
        {%- endcall %}
    {% endif %}
{% endmacro %}


{#- The changes, each with an operation: by one that has none a row would neither come nor go. A value and no filter:
    what reads it may drop NULL before. -#}
{% macro _with_operations(consumer, changes, columns) -%}
{%- set texts = dbt_cdc._texts_of_partitions(columns) -%}
select
    * except ({{ (['`__$operation`'] + texts) | join(', ') }}),
    {%- for text in texts %}
    {#- Delta keeps it as NULL (https://github.com/delta-io/delta/issues/2100), which no key finds #}
    if({{ text }} = '', raise_error({{ dbt_cdc._literal(
        'CDC 22938: ' ~ consumer.kind ~ ' ' ~ consumer.name ~ ' has an empty text in ' ~ text
        ~ ', by which its table is partitioned, and Delta keeps it as NULL' ~ dbt_cdc._advice(
        'leave partition_by out, or give empty texts another value in the model')) }}), {{ text }}) as {{ text }},
    {%- endfor %}
    if(`__$operation` between 1 and 5, `__$operation`, raise_error(concat(
        {{ dbt_cdc._literal(
            'CDC 22938: ' ~ consumer.kind ~ ' ' ~ consumer.name ~ ' gives a change the __$operation ') }},
        coalesce(cast(`__$operation` as string), 'NULL'),
        {{ dbt_cdc._literal(dbt_cdc._advice('pass on that of new_changes, and give 1 where the row is not to be in the '
            ~ 'table: a case without else gives NULL, so write else 1')) }}
    ))) as `__$operation`
from (
    {{ dbt_cdc._indent(changes, 4) }}
)
{%- endmacro %}


{% macro _texts_of_partitions(columns) %}
    {% set given, found = config.get('partition_by') or [], [] %}
    {% set names = ([given] if given is string else given) | map('lower') | list %}
    {% for column in columns.values() if column.name | lower in names and column.type == 'string' %}
        {% do found.append(column.quoted) %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{% macro _check_added_columns(consumer, columns, added) %}
    {% set names = added | map(attribute='name') | list %}
    {% for name in names if name in columns %}
        {% do dbt_cdc.raise_cdc_error(
            22938, consumer.kind ~ ' ' ~ consumer.name ~ " has a column '" ~ name ~ "' of its own",
            'give it another name in the model: a ' ~ consumer.kind ~ ' adds ' ~ names[:-1] | join(', ')
            ~ ' and ' ~ names[-1]
        ) %}
    {% endfor %}
{% endmacro %}


{#- The table made anew in one commit; where another one is, that stays in its history. With deletion vectors a
    changed row does not rewrite its whole file (Databricks: _without_row_conflicts). Delta's history has the properties
    that a table is made with. -#}
{% macro _create_as_sql(relation, columns, rows, consumer) -%}
    {%- set properties = dbt_cdc._model_properties(columns, {'delta.enableDeletionVectors': 'true'}) -%}
    {%- do properties.update({'dbt_cdc.made': consumer.kind ~ ' '
        ~ (dbt_cdc._merge_marks(consumer) if dbt_cdc._is_building() else '')}) -%}
    {%- set create -%}
create or replace table {{ relation }}
using {{ dbt_cdc._file_format() }}
{{ partition_cols(label='partitioned by') }}
{{ liquid_clustered_cols() if liquid_clustered_cols is defined }}
{{ clustered_cols(label='clustered by') }}
{{ location_clause(adapter.build_catalog_relation(config.model)) if target.type == 'databricks'
    else location_clause() }}
{{ comment_clause() }}
tblproperties (
    {%- for name, value in properties.items() %}
    '{{ name }}' = '{{ value }}'{{ ',' if not loop.last }}
    {%- endfor %}
)
as
{{ rows }}
    {%- endset -%}
    {{ dbt_cdc._write_once(dbt_cdc._while_open(consumer, create), rows) }}
{%- endmacro %}


{#- A write of what the open bookmarks say. Where others have opened one of them further, or moved it meanwhile, the
    write is theirs: what this run has read is older than what they write. -#}
{% macro _while_open(consumer, write) -%}
    {%- set open = dbt_cdc._open_marks(consumer) if dbt_cdc._is_building() else [] -%}
    {%- if open -%}
if exists (
    {{ dbt_cdc._indent(dbt_cdc._are_open_sql(open), 4) }}
) then
    {{ dbt_cdc._indent(write, 4) }};
end if
    {%- else -%}
{{ write }}
    {%- endif -%}
{%- endmacro %}
