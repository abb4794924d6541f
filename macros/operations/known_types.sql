{#- Types of columns that the log does not tell, out of what the project knows of the table. -#}

{#- `source` with the types of the table's instance, as far as they hold what is told: by the log, by
    `meta.source_type` and `types` of the log's model; else as far as they take the last images. What else is told
    comes before what the images look like. `told_by`: ddl or schemas, where the log tells all types; or so
    a column says of its own. -#}
{% macro _with_known_types(log, table, source, told_by) %}
    {% set instance = dbt_cdc._instance_of_model(table) %}
    {% set types = (dbt_cdc._adapter_types() or {}).get(table, {}) %}
    {% set own = {} %}
    {% for column in instance.columns or [] %}
        {% do own.update({column.name: column}) %}
    {% endfor %}
    {#- of which one of the last images has a value that a capture would refuse -#}
    {% set misfits = dbt_cdc._fetch(dbt_cdc._columns_that_misfit_sql(log, dbt_cdc._with_encodings(instance, {})))
        | map(attribute='name') | list if instance and not told_by else [] %}
    {% set columns = [] %}
    {% for column in source.columns %}
        {% set before = own.get(column.name, {}) %}
        {% set given = dbt_cdc._column_meta(before).get('source_type') or types.get(column.name) %}
        {% set column = dict(column, meta=dict(dbt_cdc._column_meta(before), **dbt_cdc._column_meta(column))) %}
        {% set told_by = told_by or column.told_by %}
        {% set is_given = given and not modules.re.match('text|time\\b', given) and not told_by %}
        {% do column.update(data_type=dbt_cdc._spark_type(given), encoding=none, note=none) if is_given %}
        {% set data_type = (before.data_type or '') | lower | trim %}
        {% if data_type and (told_by or column.name not in misfits)
            and (not (told_by or is_given) or dbt_cdc._holds_told(data_type, column.data_type, told_by)) %}
            {% do column.update(data_type=data_type, encoding=none, note=none) %}
        {% elif data_type and data_type != column.data_type %}
            {% set note = 'not ' ~ data_type ~ ' as in ' ~ instance.name %}
            {% do column.update(differs=true, note=column.note ~ ', ' ~ note if column.note else note) %}
        {% endif %}
        {% do columns.append(column) %}
    {% endfor %}
    {% do return(dict(source, columns=columns, instance=instance)) %}
{% endmacro %}


{#- Schemas in the log tell the scale of a decimal, and no precision. -#}
{% macro _holds_told(data_type, told, told_by) %}
    {% do return(dbt_cdc._type_size(data_type, 1) >= dbt_cdc._type_size(told, 1))
        if told_by == 'schemas' and dbt_cdc._type_family(data_type) == dbt_cdc._type_family(told) == 'decimal' %}
    {% do return(dbt_cdc._holds_type(data_type, told)) %}
{% endmacro %}


{#- The instance of the table, as its model's YAML says it; of two the last one, none without. -#}
{% macro _instance_of_model(table) %}
    {% set found = [none] %}
    {% for node in graph.nodes.values()
        if node.resource_type == 'model' and node.config.materialized == 'change_table' %}
        {% set meta = node.config.meta.get('cdc') or {} %}
        {% do found.append(dbt_cdc._capture_instance(node))
            if meta.get('source_schema', '') ~ '.' ~ meta.get('source_name', '') == table %}
    {% endfor %}
    {% do return(found[-1]) %}
{% endmacro %}


{% macro _columns_that_misfit_sql(log, instance) -%}
with parsed as (
    select
        log.operation,
        {{ dbt_cdc._indent(dbt_cdc._read_images(instance), 8) }}
    from (
        {{ dbt_cdc._indent(dbt_cdc._last_images(
            log, dbt_cdc._is_of_table(instance.source_schema, instance.source_name)), 8) }}
    ) as log
),

{{ dbt_cdc._image_steps(instance) }},

-- what the parser could not read is null in the image
reread as (
    select
        *,
        if(
            json.bad is null, null, from_json(text, 'map<string,string>', map('allowSingleQuotes', 'false'))
        ) as texts
    from typed
)

select distinct name
from reread
lateral view explode(array(
    {%- for column in dbt_cdc._logged_columns(instance.columns) %}
    {%- set name = dbt_cdc._literal(column.name) %}
    if({{ dbt_cdc._indent((dbt_cdc._misfits(column) + [
        'image.' ~ dbt_cdc._column(column.name) ~ ' is null and try_element_at(texts, ' ~ name ~ ') is not null'
    ]) | join(' or '), 8) }}, {{ name }}, null){{ ',' if not loop.last }}
    {%- endfor %}
)) as name
where name is not null
{%- endmacro %}


{% macro _last_images(log, of_table) -%}
select *
from {{ log }}
where {{ of_table }} and operation in ('INSERT', 'UPDATE', 'DELETE')
order by lsn desc
limit 1000
{%- endmacro %}
