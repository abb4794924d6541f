{#- Types of source databases, and what of a type's values another type holds. -#}

{#- The Spark type that holds the values of a source type, e.g. varchar(50) for nvarchar(50). Some types of a binary log
    its connectors send in a way of their own. -#}
{% macro _spark_type(source_type, is_of_binlog=false) %}
    {% set text = modules.re.sub('\\s+', ' ', source_type | string | lower | trim) %}
    {% set base = modules.re.sub('\\s*\\(.*?\\)', '', text) | trim %}
    {#- zerofill makes a number unsigned -#}
    {% set base = modules.re.sub('( signed)+$', '', modules.re.sub('( unsigned)?( zerofill)+$', ' unsigned', base)) %}
    {% set size = modules.re.search('\\([^)]*\\)', text) %}
    {% set size = size[0].replace(' ', '') if size else '' %}
    {% set sizes = modules.re.findall('\\*|-?\\d+', size) %}
    {% if base == 'bit' and sizes and sizes[0] != '1' %}
        {% do return('binary' if is_of_binlog else 'string') %}
    {% elif is_of_binlog and base.split(' ')[0] in ['float', 'time'] %}
        {% set is_long = sizes | length == 1 and sizes[0] | int > 24 %}
        {% do return('bigint' if base == 'time' else 'double' if is_long else 'float') %}
    {% endif %}
    {% for pattern, spark_type in dbt_cdc._source_type_patterns().items()
        if modules.re.fullmatch(pattern, base) %}
        {% if spark_type == 'decimal' %}
            {% do return('decimal(38,18)') if sizes in [[], ['*']] %}
            {#- * is as many as there are; a negative scale is one of zeros before the point -#}
            {% set precision, scale = sizes[0] | int(38), (sizes[1:] or [0])[0] | int %}
            {% do return('decimal(' ~ [[precision - [scale, 0] | min, scale] | max, 38] | min ~ ','
                ~ [[scale, 0] | max, 38] | min ~ ')') %}
        {% elif spark_type in ['varchar', 'char'] %}
            {% set unsized = 'char(1)' if spark_type == 'char' and not size else 'string' %}
            {#- Oracle says of what: (10 byte), (10 char) -#}
            {% set is_sized = modules.re.fullmatch('\\(\\d+(byte|char)?\\)', size) %}
            {% do return(spark_type ~ '(' ~ sizes[0] ~ ')' if is_sized else unsized) %}
        {% endif %}
        {% do return(spark_type) %}
    {% endfor %}
    {% do return('string') %}
{% endmacro %}


{#- What is not here (json, xml, uuid, time, interval, arrays ...) is kept as text. -#}
{% macro _source_type_patterns() %}
    {% do return({
        'bool(ean)?|bit': 'boolean',
        '(tinyint|int1)( unsigned)?|smallint|int2|smallserial|short|byte': 'smallint',
        'int|integer|int4|serial|(mediumint|middleint|int3)( unsigned)?|(smallint|int2) unsigned|year': 'int',
        'bigint|int8|bigserial|long|(int|integer|int4) unsigned': 'bigint',
        '(bigint|int8) unsigned': 'decimal(20,0)',
        '(real|float4|binary_float)( unsigned)?': 'float',
        '(float|float8|double|double precision|binary_double)( unsigned)?': 'double',
        '(decimal|dec|fixed|numeric|number)( unsigned)?': 'decimal',
        'money': 'decimal(19,4)',
        'smallmoney': 'decimal(10,4)',
        'n?varchar|n?varchar2|character varying|national character varying': 'varchar',
        'n?char|character|bpchar|national character': 'char',
        'binary|varbinary|image|bytea|(tiny|medium|long)?blob|rowversion|(long )?raw': 'binary',
        'date': 'date',
        'datetime|datetime2|smalldatetime|datetimeoffset|timestamptz|timestamp_ltz': 'timestamp',
        'timestamp( with(out)?( local)? time zone)?': 'timestamp',
        'timestamp_ntz': 'timestamp_ntz',
    }) %}
{% endmacro %}


{#- The digits before and after the decimal point: of decimal(18,4) [14, 4], of int [10, 0]. -#}
{% macro _type_digits(data_type) %}
    {% set integers = {'tinyint': 3, 'byte': 3, 'smallint': 5, 'short': 5, 'int': 10, 'integer': 10,
        'bigint': 19, 'long': 19} %}
    {% do return([integers[data_type], 0]) if data_type in integers %}
    {% set scale = dbt_cdc._type_size(data_type, 1) %}
    {% do return([(dbt_cdc._type_size(data_type) or 10) - scale, scale]) %}
{% endmacro %}


{#- Whether every value of `other` is one of `data_type`, kept in the same way: so a column need not be
    altered. A char(n) keeps no blanks at the end. -#}
{% macro _holds_type(data_type, other) %}
    {% set family = dbt_cdc._type_family(data_type) %}
    {% set other_family = dbt_cdc._type_family(other) %}
    {% if family in ['integer', 'decimal'] and other_family in ['integer', 'decimal'] %}
        {% set digits = dbt_cdc._type_digits(data_type) %}
        {% set needed = dbt_cdc._type_digits(other) %}
        {% do return(
            digits[0] >= needed[0] and digits[1] >= needed[1]
            and (family == other_family or family == 'decimal')
        ) %}
    {% elif family in ['string', 'text'] and other_family in ['string', 'text'] %}
        {% set room = dbt_cdc._type_size(data_type) %}
        {% set needed = dbt_cdc._type_size(other) %}
        {% do return(family == 'string' or (other_family == 'text' and room >= needed
            and (not dbt_cdc._is_char(data_type) or dbt_cdc._is_char(other)))) %}
    {% elif family == 'float' and other_family == 'float' %}
        {% do return(data_type == other or data_type == 'double' or other in ['float', 'real']) %}
    {% endif %}
    {% do return(family == other_family) %}
{% endmacro %}


{#- Whether two texts name one type: decimal(9, 2) and numeric(9,2). -#}
{% macro _is_same_type(one, other) %}
    {% do return(one == other or one and ('ntz' in one) == ('ntz' in other)
        and dbt_cdc._holds_type(one, other) and dbt_cdc._holds_type(other, one)) %}
{% endmacro %}


{#- Whether the table format can alter a column of `data_type`, which is too narrow, to `other` and keep its
    values. Delta asks for at least decimal(10,0) for an int or a smaller one, decimal(20,0) for a bigint. -#}
{% macro _widens_to(data_type, other) %}
    {% set family = dbt_cdc._type_family(data_type) %}
    {% set other_family = dbt_cdc._type_family(other) %}
    {% if family == 'integer' and other == 'double' %}
        {% do return(dbt_cdc._type_digits(data_type)[0] <= 10) %}
    {% elif family == 'date' %}
        {% do return(other == 'timestamp_ntz') %}
    {% elif [family, other_family] == ['integer', 'decimal'] %}
        {% set needed = 20 if data_type in ['bigint', 'long'] else 10 %}
        {% do return(dbt_cdc._type_digits(other)[0] >= needed) %}
    {% endif %}
    {% do return(
        (family == other_family or [family, other_family] == ['text', 'string'])
        and dbt_cdc._holds_type(other, data_type) and not dbt_cdc._holds_type(data_type, other)
        and not other.startswith('char')
    ) %}
{% endmacro %}


{#- Whether a column of `data_type` keeps each value of `other` that is written into it, or the write fails: Spark
    rounds numbers and cuts times in silence. -#}
{% macro _keeps_values(data_type, other) %}
    {% set families = [dbt_cdc._type_family(data_type), dbt_cdc._type_family(other) if other != 'void'] %}
    {% if not families | reject('in', ['integer', 'decimal']) | list %}
        {% do dbt_cdc._check_store_assignment() if not dbt_cdc._holds_type(data_type, other) %}
        {% do return(dbt_cdc._type_digits(other)[1] <= dbt_cdc._type_digits(data_type)[1]) %}
    {% endif %}
    {% do return(
        families[0] in ['string', 'text'] and families[1] != 'binary' or families == ['timestamp', 'date']
        or other == 'void'
        or dbt_cdc._holds_type(data_type, other) or dbt_cdc._widens_to(other, data_type)
    ) %}
{% endmacro %}


{% macro _check_store_assignment() %}
    {% do dbt_cdc.raise_cdc_error(
        22859, "the session's spark.sql.storeAssignmentPolicy is LEGACY",
        "set it to 'ANSI' in the profile: a number that does not fit into its column would be another one, or NULL"
    ) if target.type != 'databricks'
        and dbt_cdc._session_setting('spark.sql.storeAssignmentPolicy') | upper == 'LEGACY' %}
{% endmacro %}


{#- 'decimal(18,4)' -> {name: 'decimal', scale: 4, bytes: 8}. -#}
{% macro _encoding(source_type, column_name) %}
    {% set text = source_type | string | lower | replace(' ', '') %}
    {% set match = modules.re.fullmatch(
        '(decimal)(?:\\((\\d+)(?:,(-?\\d+))?\\))?|(date)|time(?:stamp)?(?:\\(([0-9])\\))?|binary(?:\\((hex|base64)\\))?|text', text
    ) %}
    {% do dbt_cdc.raise_cdc_error(
        22963, "the source type of column '" ~ column_name ~ "' is '" ~ source_type ~ "'",
        'it is one of decimal(p,s), decimal (each value tells its scale), date, timestamp(0) to timestamp(9), '
        ~ 'time(0) to time(9), binary, binary(hex), binary(base64), text (a number in quotes)'
    ) if not match %}
    {% set decimal, precision, scale, date, digits, spelling = match.groups() %}
    {% if decimal %}
        {% do return({
            'name': 'decimal', 'scale': (scale or 0) | int if '(' in text else none,
            'bytes': 8 if (precision or 38) | int <= 18 else 16,
        }) %}
    {% elif text == 'text' %}
        {% do return({'name': 'text'}) %}
    {% elif date %}
        {% do return({'name': 'date'}) %}
    {% elif text.startswith('time') %}
        {% set place = ([digits | default(6, true) | int - 1, 0] | max) // 3 %}
        {% do return({'name': text.partition('(')[0], 'unit': ['ms', 'us', 'ns'][place]}) %}
    {% endif %}
    {% do return({'name': {'hex': 'binary(hex)'}.get(spelling, spelling or 'binary')}) %}
{% endmacro %}
