{#- What is asked of a captured column's type. -#}

{#- Which rules a type follows. -#}
{% macro _type_family(data_type) %}
    {% set base = modules.re.sub('\\s*\\(.*', '', data_type | lower | trim) %}
    {% set families = {
        'boolean': 'boolean',
        'tinyint': 'integer', 'byte': 'integer', 'smallint': 'integer', 'short': 'integer',
        'int': 'integer', 'integer': 'integer', 'bigint': 'integer', 'long': 'integer',
        'float': 'float', 'real': 'float', 'double': 'float',
        'decimal': 'decimal', 'dec': 'decimal', 'numeric': 'decimal',
        'string': 'string', 'varchar': 'text', 'char': 'text', 'character': 'text',
        'binary': 'binary', 'date': 'date',
        'timestamp': 'timestamp', 'timestamp_ltz': 'timestamp', 'timestamp_ntz': 'timestamp',
    } %}
    {% do dbt_cdc.raise_cdc_error(
        22942, "data type '" ~ data_type ~ "' cannot be captured",
        'use one of ' ~ families | join(', ') ~ '; nested values as string keep their JSON text'
    ) if base not in families %}
    {% do return(families[base]) %}
{% endmacro %}


{#- Whether values of a type are padded with blanks. -#}
{% macro _is_char(data_type) %}
    {% do return((data_type | lower | trim).startswith('char')) %}
{% endmacro %}


{#- What the column's YAML says of it beside its type: source_type, is_computed, column_id. -#}
{% macro _column_meta(column) %}
    {% do return((column.get('config') or {}).get('meta') or column.get('meta') or {}) %}
{% endmacro %}


{#- A computed column is NULL in the change table, whatever the log has. -#}
{% macro _is_computed(column) %}
    {% do return(dbt_cdc._column_meta(column).get('is_computed', false)) %}
{% endmacro %}


{#- The number in a type's parentheses: of decimal(18,4) 18, and 4 at index 1. -#}
{% macro _type_size(data_type, index=0) %}
    {% set sizes = modules.re.findall('\\d+', data_type) %}
    {% do return(sizes[index] | int if sizes | length > index else 0) %}
{% endmacro %}


{% macro _names(columns) -%}
    array({{ dbt_cdc._name_literals(columns) | join(', ') }})
{%- endmacro %}


{% macro _name_literals(columns) %}
    {% set names = [] %}
    {% for column in columns %}
        {% do names.append(dbt_cdc._literal(column.name)) %}
    {% endfor %}
    {% do return(names) %}
{% endmacro %}


{#- From 1; the same letter case first, then any; none where there is no such column. -#}
{% macro _find_ordinal(columns, column_name) %}
    {% set names = columns | map(attribute='name') | list %}
    {% do return(names.index(column_name) + 1) if column_name in names %}
    {% set names = names | map('lower') | list %}
    {% set name = (column_name if column_name is not none else '') | string | lower %}
    {% do return(names.index(name) + 1 if name in names else none) %}
{% endmacro %}


{#- Names as the columns spell them; what is none of theirs, as it is given. -#}
{% macro _as_spelled(names, columns) %}
    {% set spelled = [] %}
    {% for name in names %}
        {% set ordinal = dbt_cdc._find_ordinal(columns, name) %}
        {% do spelled.append(columns[ordinal - 1].name if ordinal else name) %}
    {% endfor %}
    {% do return(spelled) %}
{% endmacro %}


{#- `widened`: name -> type. -#}
{% macro _alter_types(relation, widened) %}
    {% do run_query(
        'alter table ' ~ relation ~ " set tblproperties ('delta.enableTypeWidening' = 'true'"
        ~ (", 'delta.feature.timestampNtz' = 'supported'" if 'timestamp_ntz' in widened.values()) ~ ')'
    ) if widened %}
    {% for name, data_type in widened.items() %}
        {% do run_query(
            'alter table ' ~ relation ~ ' alter column ' ~ dbt_cdc._column(name) ~ ' type ' ~ data_type
        ) %}
    {% endfor %}
{% endmacro %}
