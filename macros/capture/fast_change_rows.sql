{#- The same rows as `_change_rows` gives, faster to plan and to run, for logs that can
    be read without care: the JSON parser reads all columns as their types, and a test of each image
    tells whether that lost anything. The first image that fails the test stops the statement; then
    the other one is used (docs/decisions/0003). -#}
{% macro _fast_change_rows(instance, window, log, scan_transactions) -%}
{%- set columns = instance.columns -%}
with {{ dbt_cdc._window_records(instance, window, log, scan_transactions) }},

parsed as (
    select
        *,
        {{ dbt_cdc._indent(
            dbt_cdc._parse_images(columns, dbt_cdc._parser_types(columns)), 8) }} as json
    from records
),

paired as (
    select
        *,
        json.images[0] as before,
        json.images[1] as after,
        {%- for image in ['before', 'after'] %}
        if(
            contains({{ image }}_image, '": '), replace({{ image }}_image, '": ', '":'), {{ image }}_image
        ) as {{ image }}_text,
        {%- endfor %}
        json.malformed is null and size(json.images) = 2 as is_json
    from parsed
),

compared as (
    select
        *,
        {{ dbt_cdc._indent(dbt_cdc._mask_parts(instance, is_struct=true), 8) }}
        {{ dbt_cdc._indent(dbt_cdc._is_key_change(instance, is_struct=true), 8) }} as is_key_change
    from paired
),

exploded as (
    select
        *,
        explode({{ dbt_cdc._indent(dbt_cdc._rows_of_record(
            columns,
            dbt_cdc._image_rows((1, 'before')),
            dbt_cdc._image_rows((2, 'after')),
            dbt_cdc._image_rows((1, 'before'), (2, 'after')),
            dbt_cdc._image_rows((3, 'before'), (4, 'after')),
            dbt_cdc._image_rows((0, 'before'), (0, 'after'))), 8) }}) as change
    from compared
),

changes as (
    select
        *,
        change.row_operation,
        change.image,
        change.text
    from exploded
)

select
    commit_lsn as `__$start_lsn`,
    cast(null as string) as `__$end_lsn`,
    lsn as `__$seqval`,
    row_operation as `__$operation`,
    {{ dbt_cdc._indent(dbt_cdc._mask_text(columns), 4) }} as `__$update_mask`,
    {%- for column in columns %}
    {{ dbt_cdc._parsed_value(column) }},
    {%- endfor %}
    command_id as `__$command_id`
from changes
where
    if(
        {{ dbt_cdc._indent(dbt_cdc._is_exact(columns), 8) }},
        row_operation,
        cast(raise_error('an image has to be read with care') as int)
    ) > 0
{%- endmacro %}


{#- Whether an instance is worth a try: updates of partial images lack columns as a rule, and the
    planner is slow with wide structs. -#}
{% macro _reads_fast(instance) %}
    {% do return(
        var('cdc_sql_scripting', true)
        and instance.before_image == 'complete'
        and instance.columns | length <= 200
    ) %}
{% endmacro %}


{% macro _image_rows() -%}
    array(
        {%- for operation, image in varargs -%}
        named_struct('row_operation', {{ operation }}, 'image', {{ image }}, 'text', {{ image }}_text)
        {{- ', ' if not loop.last }}
        {%- endfor -%}
    )
{%- endmacro %}


{#- The type as which the parser reads a column, by column order. It takes no quoted number for a
    float, so those are read as texts. -#}
{% macro _parser_types(columns) %}
    {% set types = [] %}
    {% for column in columns %}
        {% set data_type = column.data_type | lower | trim %}
        {% do types.append(
            'string' if dbt_cdc._type_family(data_type) in ['text', 'float']
            else 'int' if dbt_cdc._is_small_integer(data_type)
            else data_type
        ) %}
    {% endfor %}
    {% do return(types) %}
{% endmacro %}


{% macro _parsed_value(column) -%}
    {%- set data_type = column.data_type | lower | trim -%}
    {%- set name = dbt_cdc._column(column.name) -%}
    {%- if data_type.startswith('char') -%} rtrim(image.{{ name }}) as {{ name }}
    {%- elif dbt_cdc._is_small_integer(data_type) -%} cast(image.{{ name }} as {{ data_type }}) as {{ name }}
    {%- elif dbt_cdc._type_family(data_type) == 'float' -%}
        {{ dbt_cdc._text_value('image.' ~ name, data_type) }} as {{ name }}
    {%- else -%} image.{{ name }}
    {%- endif -%}
{%- endmacro %}
