{#- Run-operation: looks at what has landed (a folder of Debezium's events, a table of them, an export of SQL Server's
    change tables, or a canonical log) and prints the files of a first project: landing, log, change tables, replicas,
    and the variables that list them. scripts/init.py writes them. -#}
{% macro init(landed, tables=none, types=none, keys=none, dry_run=false) %}
    {% if execute %}
        {% set dry_run = dbt_cdc._as_boolean('dry_run', dry_run) %}
        {% do dbt_cdc._check_has_no_log() %}
        {% set place = dbt_cdc._landed_place(landed) %}
        {% set own = dbt_cdc._state_relation('lsn_time_mapping') %}
        {% do dbt_cdc._raise_export_is_own(place.name)
            if place.kind == 'export' and place.schema | lower == own.schema | lower
            and dbt_cdc._is_one_catalog(own.database, place.relation.database) %}
        {% do place.update(has_beginning=place.kind != 'export') %}
        {% do place.update(tables=dbt_cdc._exported_tables(place) if place.kind == 'export'
            else dbt_cdc._landed_tables(place)) %}
        {% set chosen = dbt_cdc._chosen_tables(place, place.tables, tables) %}
        {% do dbt_cdc._check_tables_of('types', types, chosen) %}
        {% do dbt_cdc._check_tables_of('keys', keys, chosen) %}
        {% set nodes, columns, left_out = [], {}, [] %}
        {% for name, table in chosen.items() %}
            {% set source = dbt_cdc._landed_columns(place, table) %}
            {% set obstacle = dbt_cdc._obstacle_to_capture(table, source.columns) %}
            {% if obstacle %}
                {% do left_out.append(dict(obstacle, text=name ~ ' ' ~ obstacle.text)) %}
            {% else %}
                {% do nodes.append(dbt_cdc._landed_node(
                    place, table, source, (types or {}).get(name), (keys or {}).get(name))) %}
                {% do columns.update({name: nodes[-1].columns}) %}
            {% endif %}
        {% endfor %}
        {% do dbt_cdc._tell_left_out(left_out, nodes) %}
        {% do dbt_cdc._check_model_names(nodes) %}
        {% do dbt_cdc._check_types_known(columns) %}
        {% for path, text in dbt_cdc._first_files(place, nodes).items() %}
            {% if dry_run %}
                {% do dbt_cdc._log_line('would write ' ~ path) %}
            {% else %}
                {% do print(('-- ' if path.endswith('.sql') else '# ') ~ path ~ '\n' ~ text ~ '\n') %}
            {% endif %}
        {% endfor %}
        {% do dbt_cdc._log_line('nothing is written: dry_run') if dry_run %}
        {#- the first replica, or change table where there is none -#}
        {% set replicas = nodes | selectattr('config.meta.cdc.index_columns') | list if place.has_beginning else [] %}
        {% do dbt_cdc._log_line('next: dbt run; then dbt show --inline "select * from {' ~ "{ ref('"
            ~ (replicas[0].name[:-3] if replicas else nodes[0].name) ~ "') }" ~ '}"') if not dry_run %}
    {% endif %}
{% endmacro %}


{#- Why a table cannot be captured as it is, and the way on; none where it can. -#}
{% macro _obstacle_to_capture(table, columns) %}
    {% set length = (table.source_schema ~ '_' ~ table.source_name) | length %}
    {% if table.source_schema | lower == 'cdc' %}
        {% do return({'text': 'is in a schema called cdc, whose tables are those of CDC itself',
            'way': 'let the log give its schema another name'}) %}
    {% elif length > 100 %}
        {% do return({
            'text': 'would have a capture instance with a name of ' ~ length ~ ' characters, and 100 are the most',
            'way': 'give it a shorter one: dbt run-operation enable_table with a capture_instance'
        }) %}
    {% endif %}
    {% set text = dbt_cdc._obstacle_of_columns(columns) %}
    {% do return({
        'text': text, 'way': 'leave a column out: dbt run-operation enable_table with a captured_column_list'
    } if text else none) %}
{% endmacro %}


{% macro _obstacle_of_columns(columns) %}
    {% set seen = {} %}
    {% for column in columns %}
        {% set name = column.name | lower %}
        {% if name in seen %}
            {% do return("has the columns '" ~ seen[name] ~ "' and '" ~ column.name
                ~ "', which Spark does not tell apart") %}
        {% elif name in dbt_cdc._metadata_columns() %}
            {% do return("has a column '" ~ column.name ~ "', a name of the change table's own") %}
        {% endif %}
        {% do seen.update({name: column.name}) %}
    {% endfor %}
    {% set number = columns | length %}
    {% do return('has ' ~ number ~ ' columns, and 1024 can be captured' if number > 1024 else none) %}
{% endmacro %}


{#- One table is no obstacle for the others. -#}
{% macro _tell_left_out(left_out, nodes) %}
    {% do dbt_cdc.raise_cdc_error(
        22930, 'no table can be captured as it is: ' ~ left_out | map(attribute='text') | join('; '),
        'init begins with one that can; then ' ~ left_out | map(attribute='way') | unique | join('; '))
        if left_out and not nodes %}
    {% for table in left_out %}
        {% do dbt_cdc._log_line('left out ' ~ table.text ~ '; after dbt run, ' ~ table.way) %}
    {% endfor %}
{% endmacro %}


{#- A project that has a log already goes on with enable_table. -#}
{% macro _check_has_no_log() %}
    {% set folders = [] %}
    {% for node in graph.nodes.values() if node.resource_type == 'model' and node.package_name == project_name
        and (node.config.meta.get('cdc') or dbt_cdc._is_log_model(node)) %}
        {% do folders.append(node.original_file_path.rpartition('/')[0]) %}
    {% endfor %}
    {% for name in ['cdc_log_model', 'cdc_log_source', 'cdc_capture_instances'] if var(name, none) %}
        {% do dbt_cdc.raise_cdc_error(
            22963, 'the project has var ' ~ name ~ ' already: ' ~ var(name, none),
            'init begins a project; add a table to one that is there with dbt run-operation enable_table; to begin '
            ~ 'again with other answers, delete the variables cdc_... in dbt_project.yml and what init wrote'
            ~ (' in ' ~ folders | unique | sort | join(', ') if folders)
        ) %}
    {% endfor %}
{% endmacro %}


{#- The tables that are asked for, by name; all where none is. -#}
{% macro _chosen_tables(place, found, tables) %}
    {% do dbt_cdc.raise_cdc_error(
        22931, place.name ~ ' has no change of any table', 'let the connector land its events there first'
    ) if not found %}
    {% set chosen = {} %}
    {% for name in dbt_cdc._split_columns(tables, 'tables') or found %}
        {% do dbt_cdc._check_tables_of('tables', [name], found) %}
        {% do chosen.update({name: found[name]}) %}
    {% endfor %}
    {% do return(chosen) %}
{% endmacro %}


{#- Of two tables whose models have the same name, as a_b.c and a.b_c, one would be captured; and none may have
    the name of the models that make the log. -#}
{% macro _check_model_names(nodes) %}
    {% set tables = {project_name ~ '_log': 'of the log', 'landed_events': 'of what has landed'} %}
    {% for node in nodes %}
        {% set cdc = node.config.meta.cdc %}
        {% set table = cdc.source_schema ~ '.' ~ cdc.source_name %}
        {% for name in [node.name] + ([node.name[:-3]] if cdc.index_columns else []) %}
            {% do dbt_cdc.raise_cdc_error(
                22926, 'the tables ' ~ tables[name] ~ ' and ' ~ table ~ " would both have a model '" ~ name ~ "'",
                'leave one of them out by tables: [...], and add it after dbt run with enable_table and a '
                ~ 'capture_instance of its own'
            ) if name in tables %}
            {% do tables.update({name: table}) %}
        {% endfor %}
    {% endfor %}
{% endmacro %}
