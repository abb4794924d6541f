{#- What landed_files and landed_table share: what has landed by now, and how a batch is appended to it once. -#}

{#- `log` is the table of what has landed, none where it is written anew; `last_position` its last one all the same: who
    reads by position would never see what landed at lower ones. `is_looking`: whether rows are wanted. -#}
{% macro _landing_batch(name, holes, late) %}
    {% set is_looking = execute and not flags.EMPTY and not dbt_cdc._is_unit_test() %}
    {% do dbt_cdc._check_reads_all() if is_looking %}
    {% do dbt_cdc._check_session_settings() if is_looking and dbt_cdc._is_building() %}
    {% set batch = dbt_cdc._landing_first_batch(name, holes, late, is_looking) %}
    {% do dbt_cdc._landing_check_model(name) if execute %}
    {% set is_anew = execute and not is_incremental() and not dbt_cdc._is_unit_test() %}
    {% set existing = load_cached_relation(this) if is_looking or is_anew %}
    {% set described = adapter.get_columns_in_relation(existing) if existing else [] %}
    {% set columns = described | map(attribute='name') | map('lower') | list %}
    {% if is_looking and is_incremental() %}
        {% do dbt_cdc._landing_check_table(this, columns) %}
        {% do batch.update(log=this) %}
    {% endif %}
    {% if 'position' in columns %}
        {% do batch.update(is_anew=is_anew, last_position=dbt_cdc._fetch(
            'select coalesce(max(try_cast(position as bigint)), 0) as position from ' ~ this)[0].position | int) %}
        {#- as an earlier version made it: wide where it has to be -#}
        {% do dbt_cdc._alter_types(this, {'position': 'bigint'}) if batch.log and batch.last_position > 1000000000
            and dbt_cdc._is_building() and described[columns.index('position')].dtype == 'int' %}
    {% endif %}
    {% do return(batch) %}
{% endmacro %}


{#- An empty table does not tell its last position, behind which the next events have to land. -#}
{% macro _landing_check_stays(batch) %}
    {% do dbt_cdc.raise_cdc_error(
        22859, 'model ' ~ model.name ~ ' would be written anew without an event, and its last position, '
        ~ batch.last_position ~ ', forgotten: what lands next would have lower ones, and never be read',
        'leave --full-refresh and --empty out, or run it when there is something to land'
    ) if batch.get('is_anew') and batch.last_position and flags.WHICH in ['run', 'build', 'retry'] %}
{% endmacro %}


{#- A batch where nothing has landed yet. -#}
{% macro _landing_first_batch(name, holes, late, is_looking=true) %}
    {% do return({
        'name': name, 'holes': holes, 'late': late, 'is_looking': is_looking, 'log': none, 'last_position': 0,
        'copies': 0, 'late_events': 0, 'changed': [],
    }) %}
{% endmacro %}


{% macro _landing_check_arguments(name, holes, late) %}
    {% for argument, given, valid in [
        ('holes', holes, ['tell', 'refuse', 'pass']), ('late', late, ['refuse', 'take'])
    ] if given not in valid %}
        {% do dbt_cdc.raise_cdc_error(
            22963, name ~ ': ' ~ argument ~ " is '" ~ given ~ "'", 'give one of ' ~ valid | join(', ')
        ) %}
    {% endfor %}
{% endmacro %}


{#- The statement names what it reads: a view would not see what lands later. -#}
{% macro _landing_check_model(name) %}
    {% do dbt_cdc._raise_not_incremental(name)
        if config.get('materialized') in ['view', 'ephemeral', 'materialized_view'] %}
{% endmacro %}


{#- A landing model of one's own, that landed_files takes over, lacks columns. -#}
{% macro _landing_check_table(log, columns) %}
    {% set missing = [] %}
    {% for name, data_type in dbt_cdc._landing_columns().items() if name not in columns %}
        {% do missing.append(name ~ ' ' ~ data_type) %}
    {% endfor %}
    {% do dbt_cdc.raise_cdc_error(
        22901, log ~ ' lacks columns of landed events: ' ~ missing | join(', '),
        'add them: ' ~ dbt_cdc._landing_statement(
            'alter table ' ~ log ~ ' add columns (' ~ missing | join(', ') ~ ')')
        ~ ', then run again: what has landed stays, and its files are known by their names'
    ) if missing %}
{% endmacro %}


{% macro _landing_columns() %}
    {% do return({
        'position': 'bigint', 'topic': 'string', 'partition': 'int', 'offset': 'bigint', 'key': 'string',
        'value': 'string', 'headers': 'string', 'timestamp': 'timestamp', 'file_name': 'string',
        'file_line': 'bigint', 'file_size': 'bigint', 'file_modified_at': 'timestamp',
    }) %}
{% endmacro %}


{% macro _landing_error(place, problem, advice) %}
    {% do dbt_cdc.raise_cdc_error(22859, 'bad log record of ' ~ place ~ ': ' ~ problem,
        advice ~ '; nothing of this batch has landed') %}
{% endmacro %}


{#- Offsets of a topic that was made again begin at 0: what has landed of it gets another name. -#}
{% macro _landing_advice_anew(batch, topic) %}
    {% set name = 'until ' ~ run_started_at.strftime('%Y-%m-%d') %}
    {% do return(
        'where topic ' ~ topic ~ ' was made anew (a new cluster): take its new events out of the ' ~ batch.place
        ~ ', run, so that the last old ones land; put the new ones in the place of the old ones; rename what has '
        ~ 'landed, and run again: '
        ~ dbt_cdc._landing_statement(
            'update ' ~ this ~ " set topic = concat('" ~ name ~ ".', topic)"
            ~ (", file_name = concat('" ~ name ~ "/', file_name)" if batch.layout == 'kafka_connect')
            ~ " where topic = '" ~ topic ~ "'")
    ) %}
{% endmacro %}


{#- A command to mend what has landed with; names of files may have what YAML or the shell reads otherwise. -#}
{% macro _landing_statement(sql) %}
    {% set is_plain = not modules.re.search('["$`!\\\\]|: | #', sql) %}
    {% do return('dbt run-operation run_statement --args ' ~ (
        '"statement: ' ~ sql ~ '"' if is_plain else dbt_cdc._shell_text('statement: ' ~ tojson(sql)))) %}
{% endmacro %}


{#- Offsets that did not land: compaction, transactions and filters of the sink leave holes, and so does a file that is
    lost or late. debezium_log finds what lacks of a transaction that has an event; one without any leaves holes alone.
    Those of the topic of BEGIN and END stop nothing either: exactly-once delivery leaves them, too. -#}
{% macro _landing_tell_holes(batch, holes) %}
    {% set texts, number = [], holes[0].holes if holes else 0 %}
    {% for hole in holes %}
        {% do texts.append(hole.mark_topic ~ ' partition ' ~ hole.mark_partition ~ ', ' ~ (
            'offset ' ~ hole.first_offset if hole.first_offset == hole.last_offset
            else 'offsets ' ~ hole.first_offset ~ ' to ' ~ hole.last_offset)) %}
    {% endfor %}
    {% set text = number ~ (' hole' if number == 1 else ' holes') ~ ' in the offsets: ' ~ texts | join('; ')
        ~ ('; ...' if number > texts | length) %}
    {% if holes and batch.holes == 'refuse' %}
        {% do dbt_cdc._landing_error(batch.place, text,
            "land what is missing and run again; where nothing is, as in a compacted topic, give holes='tell'") %}
    {% elif holes and batch.holes == 'tell' and dbt_cdc._is_building() %}
        {% do dbt_cdc._log_line(model.name ~ ': ' ~ text
            ~ "; compaction, Kafka's transactions and a sink that leaves out tombstones make holes, and so do lost "
            ~ "events: of a transaction that is lost as a whole nothing else tells but a later snapshot ("
            ~ dbt_cdc._page('landing.md') ~ ')') %}
    {% endif %}
{% endmacro %}
