{#- What the adapters check alike. -#}

{#- An argument that is a dictionary by table. -#}
{% macro _check_names_tables(adapter_name, argument, tables) %}
    {% do dbt_cdc.raise_cdc_error(
        22963, adapter_name ~ ': ' ~ argument ~ " is '" ~ tables ~ "'",
        "give a dictionary by table names, 'schema.table'"
    ) if tables is not none and tables is not mapping %}
    {% for table in tables or {} if '.' not in table | string %}
        {% do dbt_cdc.raise_cdc_error(
            22963, adapter_name ~ ': ' ~ argument ~ " names '" ~ table ~ "'",
            "tables are named 'schema.table'"
        ) %}
    {% endfor %}
{% endmacro %}


{#- An argument that gives each source table the relation that it landed in. -#}
{% macro _check_gives_relations(adapter_name, argument, tables, advice) %}
    {% do dbt_cdc.raise_cdc_error(22963, adapter_name ~ ': ' ~ argument ~ " is '" ~ tables ~ "'", advice)
        if tables is not mapping or not tables %}
    {% for table in tables if (table | string).split('.') | length != 2 %}
        {% do dbt_cdc.raise_cdc_error(
            22963, adapter_name ~ ': ' ~ argument ~ " names '" ~ table ~ "'", "source tables are named 'schema.table'"
        ) %}
    {% endfor %}
{% endmacro %}


{#- Of two JSON texts in one Spark reads the first. The pattern alone would cost a tenth of reading the events: it is
    asked where a brace is followed by one, or by a blank. -#}
{% macro _has_two_texts(text) -%}
{%- set begins = [] -%}
{%- for sign in ['{', ' ', '\\n', '\\r', '\\t'] -%}
    {%- do begins.append('contains(' ~ text ~ ", '}" ~ sign ~ "')") -%}
{%- endfor -%}
(({{ begins | join(' or ') }}) and {{ text }} rlike '[}]\\s*[{]\\s*"[a-z]')
{%- endmacro %}


{% macro _check_adapter_types(adapter_name, types, example) %}
    {% for table, columns in (types or {}).items() %}
        {% do dbt_cdc.raise_cdc_error(
            22963, adapter_name ~ ": types['" ~ table ~ "'] is '" ~ columns ~ "'",
            'give column names and their encodings, e.g. ' ~ example
        ) if columns is not mapping %}
        {% for column, source_type in columns.items() %}
            {% do dbt_cdc._encoding(source_type, table ~ '.' ~ column) %}
        {% endfor %}
    {% endfor %}
{% endmacro %}


{#- Times become text in the zone of the session: asked before any is written. -#}
{% macro _check_session_time_zone() %}
    {% do dbt_cdc._check_session_settings() %}
    {% do dbt_cdc._check_time_zone(
        dbt_cdc._fetch('select ' ~ dbt_cdc._session_time_zone() ~ ' as time_zone')[0].time_zone) %}
{% endmacro %}


{#- The end of a statement that appends to this model: nothing, where another run has appended rows of which `is_there`
    (SQL) holds. `word` is `and` behind other conditions. -#}
{% macro _appended_once(is_there, word='where') %}
    {%- set strategy = dbt_cdc._incremental_strategy() -%}
    {%- do dbt_cdc.raise_cdc_error(
        22963, model.name ~ " appends what is new, and its incremental_strategy is '" ~ strategy
        ~ "', which would replace what it has", "set incremental_strategy to 'append'"
    ) if strategy in ['insert_overwrite', 'microbatch', 'replace_where'] -%}
-- Delta checks an append that reads its target: of two runs at the same time one appends
{{ word }} not exists (select 1 from {{ this }} where {{ is_there }})
{%- endmacro %}


{#- A macro whose model has to keep what it wrote. -#}
{% macro _raise_not_incremental(macro_name) %}
    {% do dbt_cdc.raise_cdc_error(
        22963, macro_name ~ ': ' ~ model.name ~ ' is materialized as ' ~ config.get('materialized'),
        "make it a table that goes on: config(materialized='incremental', incremental_strategy='append', "
        ~ "file_format='delta')"
    ) %}
{% endmacro %}


{#- Where all that there is lies below what the log has read, as after a landing was written anew from 1 on, the log
    would never read it. -#}
{% macro _check_positions_go_on(events, log, end_position, read_position) %}
    {% do dbt_cdc.raise_cdc_error(
        22859, 'positions of ' ~ events ~ ' began anew: the last one is ' ~ end_position ~ ', and the log has read '
        ~ 'up to ' ~ read_position,
        dbt_cdc._positions_advice(log)
    ) if end_position is not none and read_position is not none and end_position < read_position %}
{% endmacro %}


{#- How many rows have landed late where the lowest ones were removed since the last run, so that a count of all tells
    nothing, and how many are there twice. The log's balances tell how many places each batch had; the batches behind
    the first whose end is still there are whole. `place` is SQL: what tells rows apart. -#}
{% macro _late_beside_removed(events, log, landed, place) %}
    {% set whole = dbt_cdc._fetch(
        'select first_end, sum(if(read_position > first_end, places, 0)) as places '
        ~ 'from (select *, min(read_position) over () as first_end '
        ~ 'from (select distinct balance, '
        ~ "cast(get_json_object(balance, '$.read_position') as bigint) as read_position, "
        ~ "cast(get_json_object(balance, '$.places') as bigint) as places from " ~ log ~ " where operation = 'COMMIT') "
        ~ 'where places is not null and read_position >= ' ~ landed.low_position ~ ' - 1) group by first_end') %}
    {% set known = whole[0] if whole else {'first_end': landed.read_position, 'places': 0} %}
    {% do return(dbt_cdc._fetch(
        'select count(distinct case when position > ' ~ known.first_end ~ ' then struct(' ~ place ~ ') end) - '
        ~ known.places ~ ' as late, count(*) - count(distinct struct(' ~ place ~ ')) as copies from ' ~ events
        ~ ' where position <= ' ~ landed.read_position)[0]) %}
{% endmacro %}


{#- How what has landed is taken out: the row keeps its place, by which a landing knows it, and is read as a
    tombstone. -#}
{% macro _take_out_advice(events, which='...', has_key=true) %}
    {% do return(
        'update ' ~ events ~ ' set ' ~ ('key = null, ' if has_key) ~ 'value = null where ' ~ which
        ~ ', sent by run_statement (of a view in the table that it reads; a row that landed_files or landed_table '
        ~ 'wrote has to stay, else it lands again; ' ~ dbt_cdc._page('landing.md') ~ ')'
    ) %}
{% endmacro %}


{#- How a log takes in what landed late; `which` is said of the log. -#}
{% macro _anew_advice(log, which='') %}
    {% do return(
        'write the log anew (dbt run --full-refresh --select ' ~ dbt_cdc._selected(log) ~ ')' ~ which
        ~ ' and take them in as late commits (' ~ dbt_cdc._page('monitoring.md') ~ ')'
    ) %}
{% endmacro %}


{% macro _positions_advice(log, which='') %}
    {% do return(
        'positions only go on: give them positions behind the last one' ~ which ~ ', or write the log anew with dbt '
        ~ 'run --full-refresh --select ' ~ dbt_cdc._selected(log)
    ) %}
{% endmacro %}


{#- Whether the log's model is an adapter, which appends whole transactions. Its code is there without a statement. -#}
{% macro _log_is_of_adapter() %}
    {% for node in graph.nodes.values() if dbt_cdc._is_log_model(node) %}
        {% set code = modules.re.sub('(?s)[{]#.*?#[}]|/[*].*?[*]/|--[^\n]*', '', node.raw_code or '') %}
        {% for adapter in ['debezium_log', 'wal2json_log', 'change_table_log', 'dms_log'] if adapter ~ '(' in code %}
            {% do return(true) %}
        {% endfor %}
    {% endfor %}
    {% do return(false) %}
{% endmacro %}


{#- Notes what an adapter has read, for the command's end, if its model makes the log that is captured; where that is an
    adapter's itself, nothing of those that it reads. -#}
{% macro _note_adapter(found) %}
    {% do dbt_cdc._invocation_cache().update(adapter=dict(found, unique_id=model.unique_id))
        if model.unique_id in dbt_cdc._models_of_log()
        and (dbt_cdc._is_log_model(model) or not dbt_cdc._log_is_of_adapter()) %}
{% endmacro %}
