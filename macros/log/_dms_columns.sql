{#- Which columns of a table are the engine's, {change_seq, operation, transaction_id: name}, and which are the source's
    (`captured`). -#}
{% macro _dms_columns(relation, headers) %}
    {% set described = dbt_cdc._exported_described(relation) %}
    {% set usual = {
        'change_seq': ['header__change_seq', 'ar_h_change_seq', 'change_seq'],
        'operation': ['header__change_oper', 'op', 'ar_h_operation', 'header__operation'],
        'transaction_id': ['header__transaction_id'],
    } %}
    {% set found = {'captured': []} %}
    {% for header, names in usual.items() %}
        {% set names = [headers[header] | lower] if headers.get(header) else names %}
        {% for name in names %}
            {% for column in described if column.name | lower == name and header not in found %}
                {% do found.update({header: column.name}) %}
            {% endfor %}
        {% endfor %}
    {% endfor %}
    {% set missing = ['change_seq', 'operation'] | reject('in', found) | list
        + headers | reject('in', found) | list %}
    {% do dbt_cdc.raise_cdc_error(
        22963, 'dms_log: ' ~ relation ~ ' has no column that is its ' ~ missing | unique | join(', its '),
        'add AR_H_CHANGE_SEQ and Op in the task (' ~ dbt_cdc._page('sources/dms.md') ~ '), or name the columns: '
        ~ "headers={'change_seq': ..., 'operation': ...}"
    ) if execute and missing %}
    {% for column in described if column.name not in found.values()
        and not (column.name | lower).startswith('header__') and not (column.name | lower).startswith('ar_h_') %}
        {% do found.captured.append(column) %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}
