{% macro _replica_rows(columns, changes, consumer) -%}
select
    {%- for column in columns.values() %}
    {{ dbt_cdc._unbounded(column) }}{{ ',' if not loop.last }}
    {%- endfor %}
from (
    {{ dbt_cdc._indent(changes, 4) }}
)
where `__$operation` <> 1
{%- endmacro %}


{% macro _replica_merge(relation, columns, changes, consumer) -%}
{%- set key = dbt_cdc._consumer_key(consumer, columns) -%}
{%- set values, types = {}, {} -%}
{%- for name, column in columns.items() if name not in key -%}
    {%- do values.update({column.quoted: dbt_cdc._replica_value(column, consumer)}) -%}
    {%- do types.update({column.quoted: column.type}) -%}
{%- endfor -%}
merge into {{ relation }} as present
using (
    {{ dbt_cdc._indent(changes, 4) }}
) as changes
    on
        {%- for column in key.values() %}
        {{ 'and ' if not loop.first }}present.{{ column.quoted }} <=> changes.{{ column.quoted }}
        {%- endfor %}
when matched and {{ dbt_cdc._told_condition(consumer, '`__$operation`', 1) }} then delete
{%- if values %}
when matched
    {%- if dbt_cdc._may_bring_equal_rows(columns, consumer) %} and not (
    {%- for name, value in values.items() %}
    {{ 'and ' if not loop.first }}
    {{- dbt_cdc._comparable('present.' ~ name, types[name]) }} <=> {# -#}
    {{ dbt_cdc._comparable(dbt_cdc._indent(value, 4), types[name]) }}
    {%- endfor %}
)
    {%- endif %} then update set
    {%- for name, value in values.items() %}
    {{ name }} = {{ dbt_cdc._indent(value, 4) }}{{ ',' if not loop.last }}
    {%- endfor %}
{%- endif %}
when not matched and changes.`__$operation` <> 1 then insert (
    {{- columns.values() | map(attribute='quoted') | join(', ') }}) values (
    {%- for column in columns.values() %}
    changes.{{ column.quoted }}{{ ',' if not loop.last }}
    {%- endfor %}
)
{%- endmacro %}


{#- Spark compares no maps and variants. -#}
{% macro _comparable(value, data_type) -%}
    {{ 'to_json(' ~ value ~ ')' if modules.re.search('(?i)map<|variant', data_type) else value }}
{%- endmacro %}


{#- Whether the model can yield a row that is in the table already. It cannot where it selects all columns of
    one instance whose window leaves out what did not change; a comparison would only cost, as Delta then reads
    all columns of the table instead of the key (docs/decisions/0010). -#}
{% macro _may_bring_equal_rows(columns, consumer) %}
    {% set window = (consumer.windows.values() | list)[0] %}
    {% do return(
        consumer.windows | length > 1 or not window.skips_unchanged
        or window.instance.columns | map(attribute='name') | map('lower') | sort != columns.keys() | sort
    ) %}
{% endmacro %}


{#- An update with partial images keeps what it does not tell. -#}
{% macro _replica_value(column, consumer) -%}
    {%- set instance = dbt_cdc._partial_instance_of(column, consumer) -%}
    {%- if instance -%}
    {{ dbt_cdc._known_or(column.quoted, 'changes', 'present', instance, column.name) }}
    {%- else -%}
    changes.{{ column.quoted }}
    {%- endif -%}
{%- endmacro %}
