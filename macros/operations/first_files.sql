{#- The files of a first project, as init prints them. -#}

{#- The change table of a landed table, as its YAML will say it; says what was found. -#}
{% macro _landed_node(place, table, source, types, key) %}
    {% set name = table.source_schema ~ '.' ~ table.source_name %}
    {% set event_key = dbt_cdc._key_columns_of_event(table.key) %}
    {% set index_columns = dbt_cdc._split_columns(key, 'keys of ' ~ name) or ([] if table.repeats_key else event_key) %}
    {% set meta = {'source_schema': table.source_schema, 'source_name': table.source_name} %}
    {% set instance = modules.re.sub('\\W', '_', table.source_schema ~ '_' ~ table.source_name) %}
    {% do meta.update(capture_instance=instance) if instance != table.source_schema ~ '_' ~ table.source_name %}
    {% do dbt_cdc._check_index(meta, source.columns, none, index_columns) %}
    {% do meta.update(index_columns=index_columns) if index_columns %}
    {% do meta.update(supports_net_changes=false) if index_columns | length > 14 %}
    {% do meta.update(before_image='partial') if table.without_before_image %}
    {% do dbt_cdc._log_line(
        'found ' ~ name ~ ': ' ~ table.changes ~ ' changes, '
        ~ ('key ' ~ index_columns | join(', ') if index_columns else 'no key'
            ~ (' (' ~ event_key | join(', ') ~ ' of two rows is the same, or what removed the first has not landed)'
                if event_key else ' (the message key is no JSON object: ' ~ table.key | truncate(40) ~ ')' if table.key)
            ~ ': no net changes and no replica')
        ~ (', of which net changes take 14: supports_net_changes false' if index_columns | length > 14)
        ~ (', updates without before image: before_image partial' if table.without_before_image else '')
    ) %}
    {% set columns = dbt_cdc._with_given_types(name, source.columns, types, in_yaml=place.kind == 'log') %}
    {% do dbt_cdc._tell_of_types(name, columns) %}
    {% do dbt_cdc._tell_of_defaults(name, table.schemas) %}
    {% do return({
        'name': dbt_cdc._object_name(instance) ~ '_ct', 'columns': columns, 'config': {'meta': {'cdc': meta}},
        'origin': source.origin,
    }) %}
{% endmacro %}


{#- Kafka Connect writes the default of a column for NULL, unless told otherwise, and no event tells. -#}
{% macro _tell_of_defaults(table, schemas) %}
    {% set names = [] %}
    {% for part in schemas | sum(start=[]) if part.field == 'after' %}
        {% for field in part.fields if field.optional and field.default is defined and field.field not in names %}
            {% do names.append(field.field) %}
        {% endfor %}
    {% endfor %}
    {% do dbt_cdc._log_line(
        table ~ ': NULL in ' ~ names | join(', ') ~ ' lands as the DEFAULT of the column, unless the connector has '
        ~ 'value.converter.replace.null.with.default=false (' ~ dbt_cdc._page('landing.md#the-connector') ~ ')'
    ) if names %}
{% endmacro %}


{#- The columns of an event's key, without what Debezium's topic routers add to tell tables apart. A key of another
    form, as one value or a text, names none. -#}
{% macro _key_columns_of_event(key) %}
    {% set columns, read = [], fromjson(key or '{}') %}
    {% for name in (read if read is mapping else {}) if not name.startswith('__dbz__') %}
        {% do columns.append(name) %}
    {% endfor %}
    {% do return(columns) %}
{% endmacro %}


{#- Path -> text. -#}
{% macro _first_files(place, nodes) %}
    {% set files, names = {}, [] %}
    {% set log_model = project_name ~ '_log' %}
    {% do files.update({'models/landed_events.sql': dbt_cdc._landing_model(place.landing)}) if place.landing %}
    {% set sources = dbt_cdc._landed_sources(place, nodes) if place.kind != 'folder' %}
    {% do files.update({'models/landed.yml': dbt_cdc._landed_source(place, sources)}) if sources %}
    {% if place.kind == 'export' %}
        {% do files.update({'models/' ~ log_model ~ '.sql': dbt_cdc._first_log_of_export(place, nodes)}) %}
    {% elif place.kind != 'log' %}
        {% do files.update({'models/' ~ log_model ~ '.sql': dbt_cdc._first_log_model(place, nodes)}) %}
    {% endif %}
    {% for node in nodes %}
        {% set name = node.name[:-3] %}
        {% do names.append(name) %}
        {% set instance = dbt_cdc._capture_instance(node) %}
        {% do files.update({
            'models/' ~ node.name ~ '.sql': '{' ~ '{ dbt_cdc.change_table() }' ~ '}',
            'models/' ~ node.name ~ '.yml': dbt_cdc._model_yaml(node, node.origin),
        }) %}
        {% do files.update({
            'models/' ~ name ~ '.sql': '{' ~ "{ config(materialized='replica') }" ~ '}\nselect * from {'
                ~ '{ dbt_cdc.new_changes(' ~ dbt_cdc._literal(instance.name) ~ ') }' ~ '}'
        }) if node.config.meta.cdc.index_columns and place.has_beginning %}
    {% endfor %}
    {% set log = 'cdc_log_source: [landed, ' ~ place.identifier ~ ']' if place.kind == 'log' and not place.model
        else 'cdc_log_model: ' ~ (place.model if place.kind == 'log' else log_model) %}
    {% do files.update({
        'dbt_project.yml': 'vars:\n  ' ~ log ~ '\n  cdc_capture_instances:\n    - ' ~ names | join('\n    - ')
    }) %}
    {% do return(files) %}
{% endmacro %}


{#- docs/landing.md explains it. -#}
{% macro _landing_model(landing) -%}
{{ '{{' }} config(materialized='incremental', incremental_strategy='append', file_format='delta') {{ '}}' }}
{{ '{{' }} dbt_cdc.{{ landing }} {{ '}}' }}
{%- endmacro %}


{#- The landed tables that no model of the project writes. -#}
{% macro _landed_sources(place, nodes) %}
    {% set tables = [place] %}
    {% if place.kind == 'export' %}
        {% for node in nodes %}
            {% do tables.append(dbt_cdc._exported_table_of(place, node)) %}
        {% endfor %}
        {% do tables.append(place.change_tables) if place.change_tables %}
        {% do tables.append(place.ddl_history) if place.ddl_history %}
    {% endif %}
    {% do return(tables | rejectattr('model') | map(attribute='identifier') | list) %}
{% endmacro %}


{% macro _landed_source(place, names) -%}
version: 2

sources:
  - name: landed
    schema: {{ dbt_cdc._yaml_text(place.schema) }}
    tables:
{%- for name in names %}
      - name: {{ dbt_cdc._yaml_text(name) }}
{%- endfor %}
{%- endmacro %}


{% macro _first_log_model(place, nodes) -%}
    {%- set types, before_images = {}, {} -%}
    {#- also of tables that are not chosen: the log has them -#}
    {%- for name, table in place.tables.items() if table.without_before_image -%}
        {%- do before_images.update({name: 'key'}) -%}
    {%- endfor -%}
    {%- for node in nodes -%}
        {%- set table = node.config.meta.cdc.source_schema ~ '.' ~ node.config.meta.cdc.source_name -%}
        {%- for column in node.columns if column.encoding -%}
            {%- do types.setdefault(table, {}).update({column.name: column.encoding}) -%}
        {%- endfor -%}
    {%- endfor -%}
{{ '{{' }} config(materialized='incremental', incremental_strategy='append', file_format='delta') {{ '}}' }}

{{ '{{' }} dbt_cdc.debezium_log(
    {{ "ref('landed_events')" if place.landing else place.reference }},
    {{- "\n    connector='" ~ place.connector ~ "'," if place.connector in ['mysql', 'mariadb', 'sqlserver'] }}
    {%- if types %}
    types={
        {%- for table, columns in types.items() %}
        {{ tojson(table) }}: {
            {%- for name, source_type in columns.items() %}
            {{ tojson(name) }}: {{ tojson(source_type) }},
            {%- endfor %}
        },
        {%- endfor %}
    },
    {%- endif %}
    {%- if before_images %}
    before_images={{ tojson(before_images) }},
    {%- endif %}
) {{ '}}' }}
{%- endmacro %}
