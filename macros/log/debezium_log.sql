{#- The canonical log (one row per log record) from landed Debezium events: the body of a model,
    materialised as view, table or incremental (append). Only whole transactions, in the order of their
    commits, with images as the source wrote them; `_log.yml` tells the arguments and how LSNs are made. How values
    are encoded the change tables ask: `types` in this model's meta, the events' own schemas in the column
    `encodings` (macros/images/encodings.sql). -#}
{% macro debezium_log(
    events, connector='postgresql', types=none, before_images=none, unavailable_value_placeholder=none
) -%}
    {%- do dbt_cdc._debezium_check_arguments(connector, types, before_images, unavailable_value_placeholder) -%}
    {{- config(meta={'cdc_source_types': types or {}, 'cdc_connector': connector}) -}}
    {%- set is_incremental = execute and is_incremental() -%}
    {%- do dbt_cdc._debezium_check_log(this) if is_incremental -%}
    {%- set batch = dict(
        dbt_cdc._debezium_batch(events, this, is_incremental, connector),
        placeholder=dbt_cdc._debezium_placeholder_text(unavailable_value_placeholder),
        goes_on=config.get('materialized') == 'incremental') -%}
    {%- do dbt_cdc._debezium_check_old_events(events, batch, before_images or {}) if batch.has_old_events -%}
    {%- if batch.has_snapshot_rows and batch.is_sqlserver -%}
        {%- do dbt_cdc._debezium_sqlserver_check_snapshot(events, batch) -%}
    {%- elif batch.has_snapshot_rows -%}
        {%- do dbt_cdc._debezium_check_late_rows(events, batch) -%}
    {%- endif -%}
    {%- do dbt_cdc._debezium_sqlserver_check_beginning(events, batch, before_images or {})
        if batch.is_sqlserver and dbt_cdc._is_building() and dbt_cdc._debezium_sqlserver_begins(batch) -%}
    {%- do dbt_cdc._debezium_check_later_snapshots(events, batch, before_images or {}) if batch.has_later_rows -%}
    {#- SQL Server's deletes tell all columns but text, ntext and image -#}
    {%- do dbt_cdc._debezium_check_deletes(events, batch, before_images or {})
        if not batch.is_sqlserver and dbt_cdc._is_building()
        and (batch.position is none or batch.last_position > batch.position) -%}
    {%- do dbt_cdc._debezium_note(events, this, batch, before_images) if dbt_cdc._is_building() -%}
with {{ dbt_cdc._debezium_events(events, batch, before_images or {}) }},

{% if batch.is_sqlserver -%}
{{ dbt_cdc._debezium_sqlserver_transactions(batch) }},

{{ dbt_cdc._debezium_sqlserver_changes() }},

{{ dbt_cdc._debezium_sqlserver_records(batch) }}
{%- else -%}
{{ dbt_cdc._debezium_owners(batch) }},

{{ dbt_cdc._debezium_transactions(batch) }},

{{ dbt_cdc._debezium_changes(batch) }},

{{ dbt_cdc._debezium_records(batch) }}
{%- endif %}
{%- if batch.has_later_rows %},

{{ dbt_cdc._debezium_later_records(batch) }}
{%- endif %}

select * from {{ 'records_and_snapshots' if batch.has_later_rows else 'records' }}
{{- dbt_cdc._appended_once("lsn > '" ~ dbt_cdc._debezium_last_lsn(batch) ~ "'") if batch.is_incremental }}
{%- endmacro %}


{#- Refuses what the adapter does not know, naming what it knows. -#}
{% macro _debezium_check_arguments(connector, types, before_images, placeholder) %}
    {% do dbt_cdc.raise_cdc_error(
        22988, "debezium_log: connector '" ~ connector ~ "' is not supported", dbt_cdc._connector_advice()
    ) if connector not in ['postgresql', 'mysql', 'mariadb', 'sqlserver'] %}
    {% do dbt_cdc._debezium_later_snapshots_choice() %}
    {% do dbt_cdc._check_names_tables('debezium_log', 'types', types) %}
    {% do dbt_cdc._check_names_tables('debezium_log', 'before_images', before_images) %}
    {% do dbt_cdc._check_adapter_types('debezium_log', types, "{'birth': 'date'}") %}
    {% for table, content in (before_images or {}).items() if content != 'key' %}
        {% do dbt_cdc.raise_cdc_error(
            22963, "debezium_log: before_images['" ~ table ~ "'] is '" ~ content ~ "'",
            "give 'key', or leave a table with whole before images out"
        ) %}
    {% endfor %}
    {% if placeholder is not none and not (placeholder is string and modules.re.fullmatch(
        '(?!hex:)[ !#-\\[\\]-~]{4,}', dbt_cdc._debezium_placeholder_text(placeholder))) %}
        {% do dbt_cdc.raise_cdc_error(
            22963, "debezium_log: unavailable_value_placeholder is '" ~ placeholder ~ "'",
            "give the connector's unavailable.value.placeholder: 4 signs of ASCII or more, no quotes and backslashes, "
            ~ 'or hex: and their octets'
        ) %}
    {% endif %}
{% endmacro %}


{#- The text of a placeholder that is given by its octets, as Debezium takes it. -#}
{% macro _debezium_placeholder_text(placeholder) %}
    {% set signs = [] %}
    {% if placeholder is string and modules.re.fullmatch('hex:([0-9A-Fa-f]{2})+', placeholder) %}
        {% for octet in modules.re.findall('..', placeholder[4:]) %}
            {% do signs.append('%c' % (octet | int(base=16))) %}
        {% endfor %}
    {% endif %}
    {% do return(signs | join or placeholder) %}
{% endmacro %}


{#- Refuses to append to a log that lacks what copies are told by. -#}
{% macro _debezium_check_log(log) %}
    {% set columns = adapter.get_columns_in_relation(log) | map(attribute='name') | list %}
    {% do dbt_cdc.raise_cdc_error(
        22901,
        'debezium_log: ' ~ log ~ ' has no column encodings, so an older version has written it',
        'once all of it is captured, write it anew out of the events: dbt run --full-refresh --select '
        ~ dbt_cdc._selected(log)
    ) if 'encodings' not in columns %}
    {#- beside those of a canonical log, for its next run: the place of a change, on COMMITs the database, how many
        events the transaction has, and the batch's balance -#}
    {% set missing = [] %}
    {% for name, data_type in {
        'source_lsn': 'bigint', 'source_database': 'string', 'events': 'bigint', 'balance': 'string',
        '`transaction`': 'string'
    }.items() if name.strip('`') not in columns %}
        {% do missing.append(name ~ ' ' ~ data_type) %}
    {% endfor %}
    {% do dbt_cdc.raise_cdc_error(
        22901,
        'debezium_log: ' ~ log ~ ' lacks columns, so an older version has written it',
        'add them: alter table ' ~ log ~ ' add columns (' ~ missing | join(', ') ~ '); or once all of it is '
        ~ 'captured, write it anew out of the events: dbt run --full-refresh --select ' ~ dbt_cdc._selected(log)
    ) if missing %}
{% endmacro %}


{#- Notes that this command has written the log, so that its end looks at what waits. -#}
{% macro _debezium_note(events, log, batch, before_images) %}
    {% do dbt_cdc._note_adapter({
        'events': events | string, 'log': log, 'before_images': before_images or {},
        'is_incremental': batch.goes_on, 'position': batch.position,
        'connector': batch.connector,
        'has_news': batch.position is none or batch.position < batch.last_position,
        'previous_lsn': dbt_cdc._debezium_last_lsn(batch),
    }) %}
{% endmacro %}
