{#- The columns of a source table as the log has them: {origin, columns: [{name, source_type, data_type}], instance}
    from the table's last committed DDL record, else from the schemas of its events, else from its last 1000 images, of
    which a log of one's own may tell some types.
    Types are those of the table's `instance`, where there is one, as far as they hold what is told. -#}
{% macro _source_columns(source_schema, source_name, log=none) %}
    {% set log = log or dbt_cdc._log_relation() %}
    {% set table = source_schema ~ '.' ~ source_name %}
    {% do dbt_cdc.raise_cdc_error(
        22901, 'the log ' ~ log ~ ' is not there yet', 'land its first rows' if var('cdc_log_source', none)
        else 'build it: dbt run --select ' ~ var('cdc_log_model', log.identifier)
    ) if adapter.get_relation(log.database, log.schema, log.identifier) is none %}
    {% set of_table = dbt_cdc._is_of_table(source_schema, source_name) %}
    {% do dbt_cdc.raise_cdc_error(
        22931, 'the log has no record of table ' ~ table,
        'check the spelling and the letter case of source_schema and source_name'
    ) if not dbt_cdc._fetch('select max(lsn) as last_lsn from ' ~ log ~ ' where ' ~ of_table)[0].last_lsn %}
    {% set ddl = dbt_cdc._last_ddl(log, source_schema, source_name) %}
    {% do return(dbt_cdc._with_known_types(log, table, dbt_cdc._columns_of_ddl(ddl), 'ddl')) if ddl %}
    {% set names = adapter.get_columns_in_relation(log) | map(attribute='name') | list %}
    {#- what the adapters write beside it -#}
    {% set is_adapters = 'encodings' in names and 'balance' in names %}
    {% set schemas = dbt_cdc._schemas_in_log(log, of_table, table) if 'encodings' in names else [] %}
    {% set told = {'origin': 'the schemas of the events', 'columns': dbt_cdc._columns_of_schemas(schemas)} %}
    {% do return(dbt_cdc._with_known_types(log, table, told, 'schemas')) if schemas and is_adapters %}
    {% set seen = dbt_cdc._observed_columns(log, of_table, table, is_adapters) %}
    {% do return(dbt_cdc._with_known_types(log, table, dbt_cdc._with_told_types(seen, told.columns), none)) %}
{% endmacro %}


{#- What images show, with the types that a log of one's own tells of some columns. -#}
{% macro _with_told_types(seen, told) %}
    {% set columns, types = [], {} %}
    {% for column in told %}
        {% do types.update({column.name: dict(column, told_by='schemas')}) %}
    {% endfor %}
    {% for column in seen.columns %}
        {% do columns.append(types.pop(column.name, column)) %}
    {% endfor %}
    {% do return(dict(seen, columns=columns + types.values() | list)) %}
{% endmacro %}


{% macro _columns_of_ddl(ddl) %}
    {% set columns = [] %}
    {% for column in ddl.columns %}
        {% do columns.append(dict({
            'name': column.name, 'source_type': column.type,
            'data_type': dbt_cdc._type_of_ddl(column.type),
        }, **dbt_cdc._told_of_column(column))) %}
        {% do columns[-1].update(indexes=column.indexes) if column.indexes is mapping %}
    {% endfor %}
    {% do return({'origin': 'the DDL record at ' ~ ddl.lsn, 'columns': columns}) %}
{% endmacro %}


{#- What a DDL record may tell beside name and type, and a column's YAML repeats. -#}
{% macro _told_of_column(column) %}
    {% set told = {} %}
    {% for key in ['column_id', 'is_computed'] if column.get(key) %}
        {% do told.update({key: column[key]}) %}
    {% endfor %}
    {% do return({'meta': told} if told else {}) %}
{% endmacro %}


{#- The schemas of a table's events, as the log keeps them; none where the last event is without one. -#}
{% macro _schemas_in_log(log, of_table, table) %}
    {% set schemas = [] %}
    {% for row in dbt_cdc._fetch(
        'select encodings, max(lsn) as last_lsn from ' ~ log ~ ' where ' ~ of_table
        ~ " and operation in ('INSERT', 'UPDATE', 'DELETE') group by encodings order by last_lsn"
    ) %}
        {% do dbt_cdc._check_encodings(row.encodings, table, log) if row.encodings %}
        {% do schemas.append(dbt_cdc._schema_of_encodings(row.encodings)) %}
    {% endfor %}
    {% do return(schemas | select | list if schemas and schemas[-1] else []) %}
{% endmacro %}


{#- Names in the order of the last image; types that hold all values of the images. `is_landed`: values are as
    Debezium writes them. -#}
{% macro _observed_columns(log, of_table, table, is_landed=false) %}
    {% set rows = dbt_cdc._fetch(dbt_cdc._observed_columns_sql(log, of_table)) %}
    {% do dbt_cdc.raise_cdc_error(
        22931, 'the log has neither a DDL record nor an image of table ' ~ table,
        'write the model by hand, from the source database'
    ) if not rows %}
    {% set columns = [] %}
    {% for row in rows %}
        {% do columns.append(dbt_cdc._landed_type(row, is_landed)) %}
    {% endfor %}
    {% do return({
        'origin': rows[0].images ~ ' images (the log has no DDL of it): check the types', 'columns': columns
    }) %}
{% endmacro %}


{% macro _observed_columns_sql(log, of_table) -%}
    with images as (
        select lsn, coalesce(after_image, before_image) as image
        from (
            {{ dbt_cdc._indent(dbt_cdc._last_images(log, of_table), 12) }}
        )
    ),

    fields as (
        select images.lsn, field.key as name, field.value, cast(field.value as string) as text
        from images, lateral variant_explode(parse_json(images.image)) as field
    ),

    last_image as (
        select json_object_keys(max_by(image, lsn)) as names, count(*) as images from images
    )

    select
        fields.name,
        schema_of_variant_agg(fields.value) as variant_type,
        bool_and(text rlike '^\\d{4}-\\d{2}-\\d{2}\\z') as is_date,
        bool_and(text rlike '^\\d{4}-\\d{2}-\\d{2}[T ]\\d{2}:\\d{2}:\\d{2}') as is_time,
        min(try_cast(text as decimal(38, 0))) as least,
        max(try_cast(text as decimal(38, 0))) as most,
        bool_and(length(text) % 4 = 0 and text rlike '^[A-Za-z0-9+/]+={0,2}\\z') as is_base64,
        bool_or(endswith(text, '=')) as has_padding,
        -- a number in bytes has no more of them than it needs
        bool_and(hex(try_to_binary(text, 'base64')) rlike '^(?!00[0-7]|FF[89A-F]).{2,32}$') as is_number,
        max(last_image.images) as images
    from fields
    cross join last_image
    group by fields.name
    order by coalesce(nullif(max(array_position(last_image.names, fields.name)), 0), 100000), fields.name
{%- endmacro %}
