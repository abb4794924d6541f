{#- The rules that a capture instance's YAML must meet, each with SQL Server's error number. -#}
{% macro _check_capture_instance(node, instance, meta) %}
    {% set who = "capture instance '" ~ instance.name ~ "'" %}
    {% set names = instance.columns | map(attribute='name') | list %}
    {% do dbt_cdc._check_instance_name(who, instance.name) %}
    {% set name, table = dbt_cdc._object_name(instance.name) ~ '_ct', node.alias | default(node.name) %}
    {% do dbt_cdc.raise_cdc_error(
        22932, who ~ " is captured by model '" ~ node.name ~ "'"
        ~ (" with the alias '" ~ table ~ "'" if table != node.name),
        "its change table, and so its model, is called '" ~ name ~ "'"
        ~ ('; it has no versions: give a second instance a model of its own' if node.get('version')
            else '; leave the alias out, also one that generate_alias_name makes' if node.name == name)
    ) if table != name %}
    {% do dbt_cdc._check_captured_columns(who, instance.columns) %}
    {% for column in instance.index_columns if column not in names %}
        {% do dbt_cdc.raise_cdc_error(
            22943, who ~ " does not capture its index column '" ~ column ~ "'",
            'add it to columns, with the same letter case; captured are ' ~ names | join(', ')
        ) %}
    {% endfor %}
    {% for column in instance.columns if column.name in instance.index_columns and dbt_cdc._is_computed(column) %}
        {% do dbt_cdc.raise_cdc_error(
            22943, who ~ " has an index column '" ~ column.name ~ "' that is computed",
            'computed columns are NULL in change tables; choose another unique index'
        ) %}
    {% endfor %}
    {% for key in ['supports_net_changes', 'allow_partition_switch'] if instance[key] is not boolean %}
        {% do dbt_cdc.raise_cdc_error(
            22963, who ~ ' has meta.cdc.' ~ key ~ ": '" ~ instance[key] ~ "'", 'it is true or false'
        ) %}
    {% endfor %}
    {% do dbt_cdc.raise_cdc_error(
        22939, who ~ ' supports_net_changes without a key',
        'give index_columns (primary key or unique index), or supports_net_changes: false'
    ) if instance.supports_net_changes and not instance.index_columns %}
    {% do dbt_cdc.raise_cdc_error(
        22865, who ~ ' has a key of ' ~ instance.index_columns | length ~ ' columns',
        'net changes take at most 14; choose another unique index, or give supports_net_changes: false'
    ) if instance.supports_net_changes and instance.index_columns | length > 14 %}
    {% for key, allowed in {
        'capture_from': ['now', 'log_start'], 'before_image': ['complete', 'partial'],
        'lob_before_image': ['always', 'when_changed']
    }.items() if instance[key] not in allowed %}
        {% do dbt_cdc.raise_cdc_error(
            22963, who ~ " has meta.cdc." ~ key ~ ": '" ~ instance[key] ~ "'",
            'it is one of ' ~ allowed | join(', ')
        ) %}
    {% endfor %}
    {% do dbt_cdc._check_names(who, instance) %}
    {% set known = [
        'source_schema', 'source_name', 'capture_instance', 'index_columns', 'index_name',
        'supports_net_changes', 'role_name', 'capture_from', 'before_image', 'filegroup_name',
        'allow_partition_switch', 'lob_before_image',
    ] %}
    {% for key in meta if key not in known %}
        {% do dbt_cdc.raise_cdc_error(
            22963, who ~ " has an unknown setting meta.cdc." ~ key,
            'known are ' ~ known | join(', ')
        ) %}
    {% endfor %}
{% endmacro %}


{% macro _check_instance_name(who, name) %}
    {% do dbt_cdc.raise_cdc_error(
        22927, who ~ ' has a name of ' ~ name | length ~ ' characters',
        'at most 100; set meta.cdc.capture_instance to a shorter one'
    ) if name | length > 100 %}
    {% do dbt_cdc.raise_cdc_error(
        22932, who ~ ' is no valid identifier',
        'it has a character to be seen, and none that controls; set meta.cdc.capture_instance'
    ) if not name | trim or modules.re.search('[\\x00-\\x1f\\x7f]', name) %}
{% endmacro %}


{% macro _check_source_schema(source_schema) %}
    {% do dbt_cdc.raise_cdc_error(
        22974, "the source table is in schema '" ~ source_schema ~ "'",
        'the tables of CDC itself cannot be captured'
    ) if source_schema | lower == 'cdc' %}
{% endmacro %}


{% macro _check_names(who, instance) %}
    {% do dbt_cdc._check_source_schema(instance.source_schema) %}
    {% set role = instance.role_name %}
    {% if role is not none and (role is not string or not role | trim) %}
        {% do dbt_cdc.raise_cdc_error(
            22907, who ~ " has role_name '" ~ role ~ "'",
            'name a role, or leave role_name out for no gating'
        ) %}
    {% elif role is not none and (role | length > 128 or modules.re.search('[`\\\\\\x00-\\x1f]', role)) %}
        {% do dbt_cdc.raise_cdc_error(
            22938, who ~ " has a role_name that is no valid name: '" ~ role ~ "'",
            'at most 128 characters, no ` or backslash'
        ) %}
    {% endif %}
{% endmacro %}


{#- A hand-over needs two instances of a table; more are refused. -#}
{% macro _check_two_instances_a_table(instances) %}
    {% set names = {} %}
    {% for instance in instances %}
        {% do names.setdefault(instance.table, []).append(instance.name) %}
        {% do dbt_cdc.raise_cdc_error(
            22962, 'table ' ~ instance.table ~ ' has ' ~ names[instance.table] | length
            ~ ' capture instances: ' ~ names[instance.table] | join(', '),
            'at most two: take the newest model, its YAML and its name in cdc_capture_instances away; disable the '
            ~ 'oldest (dbt run-operation disable_table) and delete its model; then put the newest one back'
        ) if names[instance.table] | length > 2 %}
    {% endfor %}
{% endmacro %}


{% macro _check_captured_columns(who, columns) %}
    {% do dbt_cdc.raise_cdc_error(
        22925, who ~ ' lists ' ~ columns | length ~ ' columns',
        'list 1 to 1024 captured columns with name and data_type'
    ) if not columns or columns | length > 1024 %}
    {% set seen = [] %}
    {% for column in columns %}
        {% if not column.data_type %}
            {% do dbt_cdc.raise_cdc_error(
                22942, who ~ " has no data_type for column '" ~ column.name ~ "'",
                'give the Spark type that holds the source values'
            ) %}
        {% elif column.data_type.count('(') != column.data_type.count(')') %}
            {% do dbt_cdc.raise_cdc_error(
                22942, who ~ " has for column '" ~ column.name ~ "' the data_type '" ~ column.data_type ~ "'",
                "put it in quotes, data_type: 'decimal(12,2)': in braces YAML ends a text without them at the comma"
            ) %}
        {% endif %}
        {% do dbt_cdc.raise_cdc_error(
            22975, who ~ " captures a column called '" ~ column.name ~ "'",
            'this name is reserved for the change table itself; take the column out (captured_column_list of '
            ~ 'enable_table leaves it out)'
        ) if column.name | lower in dbt_cdc._metadata_columns() %}
        {% do dbt_cdc.raise_cdc_error(
            22930, who ~ " lists column '" ~ column.name ~ "' twice",
            'take one of them out (captured_column_list of enable_table leaves it out): Spark tells columns '
            ~ 'apart without regard to letter case'
        ) if column.name | lower in seen %}
        {% set meta = dbt_cdc._column_meta(column) %}
        {% set column_id = meta.get('column_id', 1) %}
        {% do dbt_cdc.raise_cdc_error(
            22963, who ~ " has for column '" ~ column.name ~ "' meta " ~ tojson(meta),
            'is_computed is true or false, column_id a whole number from 1'
        ) if meta.get('is_computed', false) is not boolean or column_id is not integer or column_id < 1 %}
        {% do seen.append(column.name | lower) %}
        {% do dbt_cdc._type_family(column.data_type) %}
    {% endfor %}
{% endmacro %}


{#- A name that is taken, or whose change table would be that of another one. -#}
{% macro _raise_taken(name, other, table, advice='give another capture_instance') %}
    {% do dbt_cdc.raise_cdc_error(
        22926, "capture instance '" ~ name ~ "' exists already, "
        ~ ('' if name | lower == other | lower else "as '" ~ other ~ "', whose objects bear the same names, ")
        ~ 'of table ' ~ table, advice
    ) %}
{% endmacro %}
