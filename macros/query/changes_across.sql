{#- All changes of a source table in [from_lsn, to_lsn], whichever of its capture instances holds them: the
    older one below the hand-over LSN, the newer one from it on. The columns are the newer one's, then
    those that only the older one has; the mask counts in that order. -#}
{% macro changes_across(source_schema, source_name, from_lsn, to_lsn, row_filter_option='all') -%}
    {%- if not execute -%}
        {#- any of the listed change tables may be the table's -#}
        {%- do dbt_cdc._depend_on_instances(dbt_cdc._listed('cdc_capture_instances')) -%}
    {%- else -%}
        {%- set parts = dbt_cdc._parts_of_window(source_schema, source_name, from_lsn, to_lsn) -%}
        {%- set columns = dbt_cdc._columns_across(parts.instances) -%}
    (
        {%- for part in parts.windows %}
        select
            `__$start_lsn`,
            `__$seqval`,
            `__$operation`,
            {{ dbt_cdc._indent(dbt_cdc._mask_across(columns, part.instance), 12) }} as `__$update_mask`
            {%- for name, data_type in columns.items() %},
            {{ dbt_cdc._column_across(name, data_type, part.instance) }} as {{ dbt_cdc._column(name) }}
            {%- endfor %}
        from {{ dbt_cdc.get_all_changes(
            part.instance.capture_instance, part.from_lsn, part.to_lsn, row_filter_option) }}
        {{- '\n        union all' if not loop.last }}
        {%- endfor %}
    )
    {%- endif -%}
{%- endmacro %}


{#- {instances (newest first), windows: [{instance, from_lsn, to_lsn}]}. -#}
{% macro _parts_of_window(source_schema, source_name, from_lsn, to_lsn) %}
    {% set from_lsn = dbt_cdc._normalize_lsn(from_lsn, 'changes_across: from_lsn') %}
    {% set to_lsn = dbt_cdc._normalize_lsn(to_lsn, 'changes_across: to_lsn') %}
    {% set found = [] %}
    {% for name, registered in dbt_cdc._registered_if_any(dbt_cdc._mapping_to_read()).items()
        if name in dbt_cdc._capture_instances()
        and registered.source_schema == source_schema and registered.source_name == source_name %}
        {% do found.append(registered) %}
    {% endfor %}
    {% do found.extend(dbt_cdc._as_if_registered(source_schema, source_name))
        if not found and not dbt_cdc._is_asked() %}
    {% do dbt_cdc._raise_not_captured(source_schema ~ '.' ~ source_name) if not found %}
    {% set instances = dbt_cdc._old_and_new(found) | reverse | list %}
    {% set hand_over = instances[0].start_lsn %}
    {% if instances | length == 1 or from_lsn >= hand_over %}
        {% set windows = [{'instance': instances[0], 'from_lsn': from_lsn, 'to_lsn': to_lsn}] %}
    {% elif to_lsn < hand_over %}
        {% set windows = [{'instance': instances[1], 'from_lsn': from_lsn, 'to_lsn': to_lsn}] %}
    {% else %}
        {% set windows = [
            {'instance': instances[1], 'from_lsn': from_lsn, 'to_lsn': dbt_cdc.decrement_lsn(hand_over)},
            {'instance': instances[0], 'from_lsn': hand_over, 'to_lsn': to_lsn},
        ] %}
    {% endif %}
    {% do return({'instances': instances, 'windows': windows}) %}
{% endmacro %}


{#- A table's declared instances, where a model is only looked at before the first run. -#}
{% macro _as_if_registered(source_schema, source_name) %}
    {% set found = [] %}
    {% for instance in dbt_cdc._capture_instances().values()
        if instance.source_schema == source_schema and instance.source_name == source_name %}
        {% set columns = [] %}
        {% for column in instance.columns %}
            {% do columns.append({'column_name': column.name, 'column_type': column.data_type}) %}
        {% endfor %}
        {% do found.append({
            'capture_instance': instance.name, 'columns': columns, 'create_date': '', 'start_lsn': dbt_cdc._zero_lsn()
        }) %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}


{#- Name -> the type that holds both instances' values, text where neither's does. A name in two letter cases is one
    column, as the newer instance spells it. -#}
{% macro _columns_across(instances) %}
    {% set columns, spelling = {}, {} %}
    {% for instance in instances %}
        {% for column in instance.columns %}
            {% set name = spelling.setdefault(column.column_name | lower, column.column_name) %}
            {% set known = columns.get(name, column.column_type) %}
            {% do columns.update({name:
                known if dbt_cdc._holds_type(known, column.column_type)
                else column.column_type if dbt_cdc._holds_type(column.column_type, known) else 'string'
            }) %}
        {% endfor %}
    {% endfor %}
    {% do return(columns) %}
{% endmacro %}


{% macro _column_across(name, data_type, instance) -%}
    {%- set names = instance.columns | map(attribute='column_name') | map('lower') -%}
    {%- set own = dict(zip(names, instance.columns)).get(name | lower) -%}
    {%- set wanted = dbt_cdc._expression_type(data_type) -%}
    {%- if not own -%} cast(null as {{ wanted }})
    {%- elif own.column_type == data_type -%} {{ dbt_cdc._column(own.column_name) }}
    {%- elif dbt_cdc._type_family(own.column_type) == 'binary' -%}
        {{ dbt_cdc._value_text({'name': own.column_name, 'data_type': own.column_type}) }}
    {%- else -%} cast({{ dbt_cdc._column(own.column_name) }} as {{ wanted }})
    {%- endif -%}
{%- endmacro %}


{#- The instance's mask with its bits in the places of these columns. -#}
{% macro _mask_across(columns, instance) -%}
    {%- set own = instance.columns | map(attribute='column_name') | map('lower') | list -%}
    {%- set names = columns | map('lower') | list -%}
    {%- if own == names -%}
    `__$update_mask`
    {%- else -%}
    concat('0x'
        {%- for byte in range((names | length + 7) // 8 - 1, -1, -1) %},
        lpad(hex(0
            {%- for name in names[byte * 8:byte * 8 + 8] if name in own %}
            + if({{ dbt_cdc._has_bit(own.index(name) + 1, '`__$update_mask`', own | length) }}, {# -#}
            {{ 2 ** (names.index(name) % 8) }}, 0)
            {%- endfor %}
        ), 2, '0')
        {%- endfor %}
    )
    {%- endif -%}
{%- endmacro %}
