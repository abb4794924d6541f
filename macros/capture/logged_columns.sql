{#- The columns of new instances as the log's images name them. Spark tells columns apart without regard to letter case,
    the JSON parser does not: a name in another case, or misspelt, would be NULL in every row. -#}

{#- Gives new instances the images' spelling of their names, or stops where none has a column and they have one that
    is not captured: it may be the one that is meant.
    Only images that are whole are asked: of updates the before image, unless the instance accepts partial ones. Of
    each table 100 say enough, but for a column that they lack. -#}
{% macro _take_logged_names(instances, log) %}
    {% set found = dbt_cdc._logged_names(instances, log, 100) %}
    {% do dbt_cdc._check_tables_are_logged(
        instances | rejectattr('name', 'in', found.keys() | list) | list, log) %}
    {% for instance in instances %}
        {% set names = found.get(instance.name, []) %}
        {% if names and dbt_cdc._unlogged(instance, names) %}
            {% do names.extend(dbt_cdc._logged_names([instance], log).get(instance.name, [])) %}
            {% set ddl = dbt_cdc._last_ddl(log, instance.source_schema, instance.source_name) %}
            {% do names.extend(ddl.columns | map(attribute='name')) if ddl and ddl.columns %}
        {% endif %}
        {% set missing = dbt_cdc._unlogged(instance, names) if names else [] %}
        {% set declared = instance.columns | map(attribute='name') | map('lower') | list %}
        {% if missing and names | map('lower') | reject('in', declared) | list %}
            {% do dbt_cdc._raise_unlogged(
                instance, missing, names, 'name them as the source does, or leave out what it does not have yet') %}
        {% endif %}
        {% do dbt_cdc._spell_as(instance, names) %}
    {% endfor %}
{% endmacro %}


{#- Stops where images have a column that nobody captures, for the first time, and from there on lack one that an
    instance captures and the image before had: the source has renamed it. Where there are none before, the instance
    was made when it had nothing to compare its names with. -#}
{% macro _check_names_of_window(window) %}
    {% if var('cdc_report_new_columns', true) and dbt_cdc._capture_instances() and window.touched_tables %}
        {% set first_ones = {} %}
        {% for new in dbt_cdc._new_columns(window) | sort(attribute='first_lsn') if new.column_name %}
            {% do first_ones.setdefault(new.source_schema ~ '.' ~ new.source_name, {}).setdefault(new.first_lsn, new) %}
        {% endfor %}
        {% for instance in dbt_cdc._capture_instances().values()
            if instance.table in first_ones and instance.get('registered') and not instance.registered.end_lsn %}
            {% set first_of_table = first_ones[instance.table].values() | list %}
            {#- what is missing since one of them is missing since all later ones, if these have images that tell -#}
            {% set since_last = {} if first_of_table | length == 1
                else dbt_cdc._logged_since(instance, window, first_of_table[-1].first_lsn) %}
            {% if not since_last.get('names') or since_last.missing %}
                {% for new in first_of_table %}
                    {% do dbt_cdc._check_names_since(instance, window, new) if not instance.registered.end_lsn %}
                {% endfor %}
            {% endif %}
        {% endfor %}
    {% endif %}
{% endmacro %}


{#- The names in the window's images from an LSN on, and which of the instance's they lack. -#}
{% macro _logged_since(instance, window, lsn) %}
    {% set names = dbt_cdc._logged_names([instance], '(select * from ' ~ window.log ~ ' where '
        ~ dbt_cdc._is_of_table(instance.source_schema, instance.source_name)
        ~ " and lsn between '" ~ lsn ~ "' and '" ~ window.to_lsn ~ "')").get(instance.name) %}
    {#- where only updates with partial images came, a later image decides -#}
    {% do dbt_cdc._invocation_cache().setdefault('undecided', []).append(instance.table) if not names %}
    {% set logged = dbt_cdc._logged_columns(instance.columns) | map(attribute='name') | list %}
    {% do return({'names': names, 'missing': logged | reject('in', names) | list if names else []}) %}
{% endmacro %}


{% macro _check_names_since(instance, window, new) %}
    {% set lsn = new.first_lsn %}
    {% set since = dbt_cdc._logged_since(instance, window, lsn) %}
    {% set names, missing = since.names, since.missing %}
    {#- a transaction that is still open may have had it earlier -#}
    {% set before = dbt_cdc._logged_names(
        [instance], '(select * from ' ~ window.log ~ ' where '
        ~ dbt_cdc._is_of_table(instance.source_schema, instance.source_name) ~ " and lsn < '" ~ lsn
        ~ "' and not array_contains(json_object_keys(coalesce(after_image, before_image)), "
        ~ dbt_cdc._literal(new.column_name) ~ '))', 1, is_latest=true
    ).get(instance.name) if missing %}
    {% set missing = missing | select('in', before) | list if before else missing %}
    {% set others = [] %}
    {% for other in dbt_cdc._instances_of([dbt_cdc._source_of(instance)])
        if other.name | lower not in window.published and not dbt_cdc._unlogged(other, names or []) %}
        {% do others.append(other.name) %}
    {% endfor %}
    {% if missing and others and instance.name | lower in window.published %}
        {% set end_lsn = dbt_cdc._first_commit_with(new, window) %}
        {% if end_lsn %}
            {% do dbt_cdc._update_metadata('change_tables', instance, {'end_lsn': dbt_cdc._literal(end_lsn)}) %}
            {% do instance.registered.update(end_lsn=end_lsn) %}
            {% do dbt_cdc._log_line(
                'no image of table ' ~ instance.table ~ ' has ' ~ missing | join(', ') ~ ' from ' ~ lsn ~ ' on: '
                ~ instance.name ~ ' ends before that commit, and ' ~ others | join(', ') ~ ' goes on')  %}
        {% else %}
            {#- of transactions that have not ended: a later window has their commits -#}
            {% do dbt_cdc._invocation_cache().setdefault('undecided', []).append(instance.table) %}
        {% endif %}
        {% do return(none) %}
    {% endif %}
    {% do dbt_cdc._raise_unlogged(
        instance, missing, names, 'make a second instance with the names that the source has now (dbt run-operation '
        ~ 'enable_table), or take this one out (disable_table) and capture the table anew'
    ) if missing %}
{% endmacro %}


{#- The window's first commit whose images have a new column: as where DDL tells of a change that an instance cannot
    follow, it lacks that transaction. -#}
{% macro _first_commit_with(new, window) %}
    {% do return(dbt_cdc._fetch(
        'select min(committed.commit_lsn) as lsn from ' ~ dbt_cdc._transactions_of(window) ~ ' as committed '
        ~ 'inner join ' ~ window.log ~ ' as log on log.tran_id = committed.tran_id '
        ~ 'and log.lsn between committed.begin_lsn and committed.commit_lsn '
        ~ "where committed.commit_lsn > '" ~ window.previous_lsn ~ "' and committed.window_to_lsn = '" ~ window.to_lsn
        ~ "' and log.lsn >= '" ~ new.first_lsn ~ "' and " ~ dbt_cdc._is_of_table(new.source_schema, new.source_name)
        ~ ' and array_contains(json_object_keys(log.after_image), ' ~ dbt_cdc._literal(new.column_name) ~ ')'
    )[0].lsn) %}
{% endmacro %}


{% macro _raise_unlogged(instance, missing, names, way_out) %}
    {% do dbt_cdc.raise_cdc_error(
        22930, "capture instance '" ~ instance.name ~ "' captures columns that no image of table " ~ instance.table
        ~ ' has: ' ~ missing | join(', ') ~ '; the images have '
        ~ names | unique(case_sensitive=true) | sort | join(', '), way_out
    ) %}
{% endmacro %}


{#- The names of the columns that the images lack in any letter case. -#}
{% macro _unlogged(instance, names) %}
    {% set known, missing = names | map('lower') | list, [] %}
    {% for column in dbt_cdc._logged_columns(instance.columns) if column.name | lower not in known %}
        {% do missing.append(column.name) %}
    {% endfor %}
    {% do return(missing) %}
{% endmacro %}


{% macro _spell_as(instance, names) %}
    {% set spelling, columns, keys = {}, [], [] %}
    {% for name in names | sort %}
        {% do spelling.setdefault(name | lower, name) %}
    {% endfor %}
    {% for column in instance.columns %}
        {% set name = column.name if column.name in names else spelling.get(column.name | lower, column.name) %}
        {% do spelling.update({column.name | lower: name}) %}
        {% do columns.append(dict(column, name=name)) %}
    {% endfor %}
    {% for name in instance.index_columns %}
        {% do keys.append(spelling[name | lower]) %}
    {% endfor %}
    {% do instance.update(columns=columns, index_columns=keys) %}
{% endmacro %}


{#- The names in the images of each instance's table, up to `images` of them, the latest ones or any, by instance. -#}
{% macro _logged_names(instances, log, images=none, is_latest=false) %}
    {% set queries, found = [], {} %}
    {% for instance in instances %}
        {% set query -%}
            select {{ dbt_cdc._literal(instance.name) }} as name, explode(json_object_keys(image)) as column_name
            from (
                select if(operation = 'INSERT', after_image, before_image) as image
                from {{ log }}
                where {{ dbt_cdc._is_of_table(instance.source_schema, instance.source_name) }}
                    and operation in ('INSERT'{{ ", 'UPDATE', 'DELETE'" if instance.before_image == 'complete' }})
                {{ 'order by lsn desc' if is_latest }} {{ 'limit ' ~ images if images }}
            )
        {%- endset %}
        {% do queries.append(query) %}
    {% endfor %}
    {% for row in dbt_cdc._fetch(
        'select name, to_json(collect_set(column_name)) as names from (' ~ queries | join(' union all ')
        ~ ') group by name'
    ) %}
        {% do found.update({row.name: fromjson(row.names)}) %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}
