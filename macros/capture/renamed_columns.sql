{#- Columns that the source has renamed, in a log without DDL. -#}

{#- Stops where images have a column that an instance does not capture and the image before lacked, and from there on
    lack one that it captures and the image before had: the source has renamed it. Where there are none before a column
    that is seen for the first time, the instance was made when it had nothing to compare its names with. -#}
{% macro _check_names_of_window(window) %}
    {% if dbt_cdc._switch_of_var('cdc_report_new_columns', true) and dbt_cdc._capture_instances()
        and window.touched_tables %}
        {% set first_ones = {} %}
        {% for new in dbt_cdc._new_columns(window) | sort(attribute='first_lsn') if new.column_name %}
            {% do first_ones.setdefault(new.source_schema ~ '.' ~ new.source_name, {}).setdefault(
                (new.first_lsn, new.is_known), dict(new, names=[])).names.append(new.column_name) %}
        {% endfor %}
        {% for instance in dbt_cdc._capture_instances().values()
            if instance.table in first_ones and instance.get('registered') and not instance.registered.end_lsn %}
            {% set first_of_table = first_ones[instance.table].values() | list %}
            {#- what is missing since one of them is missing since all later ones, if these have images that tell -#}
            {% set since_last = {} if first_of_table | length == 1
                else dbt_cdc._logged_since(instance, window, first_of_table[-1].first_lsn) %}
            {% if not since_last.get('names') or since_last.missing %}
                {% for new in first_of_table
                    if new.names | reject('in', instance.columns | map(attribute='name') | list) | list %}
                    {% do dbt_cdc._check_names_since(instance, window, new) if not instance.registered.end_lsn %}
                {% endfor %}
            {% endif %}
        {% endfor %}
        {% do dbt_cdc._check_one_spelling(window) %}
    {% endif %}
    {% do dbt_cdc._take_up_ends(dbt_cdc._invocation_cache().get('plans', {}), is_last=true) %}
    {% set known = {} %}
    {% for name, instance in dbt_cdc._capture_instances().items() if instance.get('registered') %}
        {% do known.update({name: instance.registered}) %}
    {% endfor %}
    {% for name, registered in known.items() if registered.unpublished_end_lsn and registered.end_lsn %}
        {% do dbt_cdc._check_goes_on(dbt_cdc._capture_instances()[name], known) %}
    {% endfor %}
{% endmacro %}


{#- Stops at images that spell a captured column in another letter case, beside those that do not. -#}
{% macro _check_one_spelling(window) %}
    {% set cache, older = dbt_cdc._invocation_cache(), dbt_cdc._older_instances(window) %}
    {% for new in dbt_cdc._new_columns(window) if new.column_name and (new.source_schema, new.source_name) in older %}
        {% set instance = older[(new.source_schema, new.source_name)] %}
        {% do dbt_cdc._check_spelling_of_column(
            instance, new.column_name, '(select * from ' ~ window.log ~ " where lsn between '" ~ new.first_lsn
            ~ "' and '" ~ window.to_lsn ~ "')")
            if instance.table not in cache.get('undecided', [])
            and not cache.get('plans', {}).get(instance.name | lower, {}).get('problem') %}
    {% endfor %}
{% endmacro %}


{#- The names in the window's images from an LSN on, and which of the instance's they lack. Where only such came as may
    lack others (`of_key`), they tell that the key is missing; else a later image decides. -#}
{% macro _logged_since(instance, window, lsn) %}
    {% set records = dbt_cdc._records_of(
        instance, window, "lsn between '" ~ lsn ~ "' and '" ~ window.to_lsn ~ "'") %}
    {% set names = dbt_cdc._logged_names([instance], records).get(instance.name) %}
    {% if not names and instance.before_image == 'partial' and instance.index_columns %}
        {% set names = dbt_cdc._logged_names(
            [dict(instance, before_image='complete')], records).get(instance.name, []) %}
        {% set missing = instance.index_columns | reject('in', names) | list if names else [] %}
        {% do return({'names': names, 'missing': missing, 'of_key': true}) if missing %}
        {% set names = none %}
    {% endif %}
    {% do dbt_cdc._invocation_cache().setdefault('undecided', []).append(instance.table) if not names %}
    {% set logged = dbt_cdc._logged_columns(instance.columns) | map(attribute='name') | list %}
    {% do return({'names': names, 'missing': logged | reject('in', names) | list if names else []}) %}
{% endmacro %}


{% macro _records_of(instance, window, condition) %}
    {% do return('(select * from ' ~ window.log ~ ' where '
        ~ dbt_cdc._is_of_table(instance.source_schema, instance.source_name) ~ ' and ' ~ condition ~ ')') %}
{% endmacro %}


{% macro _check_names_since(instance, window, new) %}
    {% set lsn = new.first_lsn %}
    {% set since = dbt_cdc._logged_since(instance, window, lsn) %}
    {% set names, missing = since.names, since.missing %}
    {% set before = dbt_cdc._names_before(instance, window, new) if missing %}
    {% set missing = missing | select('in', before) | list if before else [] if new.is_known else missing %}
    {#- a known one may have been there all the while, beside a column that was dropped -#}
    {% set came = new.names | reject('in', (before or []) + instance.columns | map(attribute='name') | list) | list %}
    {#- or images leave NULLs out: one had the known name before, and lacked another one -#}
    {% set earlier = dbt_cdc._earlier_images(instance, window, lsn, came[0], missing)
        if new.is_known and missing and came else {} %}
    {% set missing = [] if earlier.get('come_and_go') else missing %}
    {% set new = dict(new, column_name=came[0]) if came else new %}
    {% set missing = missing if came else [] %}
    {% set others = [] %}
    {% set new_names = (names or []) | reject('in', instance.columns | map(attribute='name') | list) | list %}
    {#- one that is published already may be there for something else -#}
    {% for other in dbt_cdc._instances_of([dbt_cdc._source_of(instance)])
        if other.name != instance.name and not (other.get('registered') or {}).get('end_lsn')
        and not dbt_cdc._unlogged(dbt_cdc._key_of(other) if since.of_key else other, names or [])
        and (other.name | lower not in window.published
            or other.columns | map(attribute='name') | select('in', new_names) | list) %}
        {% do others.append(other) %}
    {% endfor %}
    {% if missing and others and others | rejectattr('registered') | list %}
        {#- which the scan alone enters -#}
        {% do dbt_cdc._raise_unlogged(instance, missing, names, 'dbt run enters '
            ~ others | map(attribute='name') | join(', ') ~ ', which goes on from there') %}
    {% elif missing and others and instance.name | lower in window.published
        and not (earlier.get('had_name') and dbt_cdc._are_published(others, window)) %}
        {% set end_lsn = dbt_cdc._first_commit_with(new, window) %}
        {% set found = dbt_cdc._records_before(
            window, end_lsn, window.floor_lsn, [dbt_cdc._is_before(instance, lsn, missing)]) if end_lsn %}
        {% do dbt_cdc.raise_cdc_error(
            22930, "capture instance '" ~ instance.name ~ "' captures columns that table " ~ instance.table
            ~ ' has by another name from ' ~ lsn ~ ' on: ' ~ missing | join(', ') ~ '; behind ' ~ found.text,
            found.advice
        ) if found %}
        {% if end_lsn %}
            {% do dbt_cdc._begin_at(others, end_lsn, window) %}
            {% do dbt_cdc._update_metadata('change_tables', instance, {'end_lsn': dbt_cdc._literal(end_lsn)}) %}
            {% do instance.registered.update(end_lsn=end_lsn) %}
            {% do dbt_cdc._log_line(
                'no image of table ' ~ instance.table ~ ' has ' ~ missing | join(', ') ~ ' from ' ~ lsn ~ ' on: '
                ~ instance.name ~ ' ends before that commit, and ' ~ others | map(attribute='name') | join(', ')
                ~ ' goes on') %}
        {% else %}
            {#- of transactions that have not ended: a later window has their commits -#}
            {% do dbt_cdc._begin_at(others, dbt_cdc.increment_lsn(window.to_lsn), window) %}
            {% do dbt_cdc._invocation_cache().setdefault('undecided', []).append(instance.table) %}
        {% endif %}
        {% do return(none) %}
    {% endif %}
    {% do dbt_cdc._raise_unlogged(
        instance, missing, names, 'make a second instance with the names that the source has now (dbt run-operation '
        ~ 'enable_table); or ' ~ dbt_cdc._capture_anew_advice('disable_table of this one')
        ~ (dbt_cdc._advice_of_nulls() if new.is_known)
    ) if missing %}
{% endmacro %}


{#- The instance with the columns of its key alone. -#}
{% macro _key_of(instance) %}
    {% do return(dict(
        instance, columns=instance.columns | selectattr('name', 'in', instance.index_columns) | list)) %}
{% endmacro %}


{#- Whether all were before the window; one that begins with it goes on where another ends. -#}
{% macro _are_published(instances, window) %}
    {% for instance in instances if instance.name | lower not in window.published
        or instance.registered.start_lsn > window.previous_lsn %}
        {% do return(false) %}
    {% endfor %}
    {% do return(true) %}
{% endmacro %}


{#- The names in the last whole image before a column came. A known one is looked for in the table's last transaction
    first: where a column was dropped, each window asks. -#}
{% macro _names_before(instance, window, new) %}
    {% set conditions, is_before = [], "lsn < '" ~ new.first_lsn ~ "'" %}
    {% if new.is_known %}
        {% set last = dbt_cdc._fetch(
            'select max_by(begin_lsn, commit_lsn) as lsn from ' ~ dbt_cdc._state_relation('scan_transactions')
            ~ " where commit_lsn <= '" ~ window.previous_lsn ~ "' and exists("
            ~ ('changed_tables' if instance.before_image == 'partial'
                else 'array_union(changed_tables, updated_tables)')
            ~ ', changed -> changed.source_schema = ' ~ dbt_cdc._literal(instance.source_schema)
            ~ ' and changed.source_name = ' ~ dbt_cdc._literal(instance.source_name) ~ ')')[0].lsn %}
        {% do conditions.append(is_before ~ " and lsn >= '" ~ last ~ "'") if last %}
        {% do conditions.append(is_before) %}
    {% else %}
        {#- a transaction that is still open may have had it earlier -#}
        {% do conditions.append(is_before ~ ' and not array_contains(' ~ dbt_cdc._image_keys() ~ ', '
            ~ dbt_cdc._literal(new.column_name) ~ ')') %}
    {% endif %}
    {% for condition in conditions %}
        {% set names = dbt_cdc._logged_names(
            [instance], dbt_cdc._records_of(instance, window, condition), 1, is_latest=true).get(instance.name) %}
        {% do return(names) if names %}
    {% endfor %}
    {% do return(none) %}
{% endmacro %}


{#- What the last 100 whole images before tell of a known name: whether one had it, and whether one that had it lacked a
    column that is missing now, where none has a NULL. -#}
{% macro _earlier_images(instance, window, lsn, name, missing) %}
    {% set has_name = 'array_contains(names, ' ~ dbt_cdc._literal(name) ~ ')' %}
    {% set lacks = 'size(array_except(array(' ~ dbt_cdc._literals(missing) ~ '), names)) > 0' %}
    {% set images = dbt_cdc._whole_images_sql(
        instance, dbt_cdc._records_of(instance, window, "lsn < '" ~ lsn ~ "'"), 100, is_latest=true) %}
    {% do return(dbt_cdc._fetch(
        'select coalesce(not bool_or(has_null) and bool_or(has_name), false) as had_name, '
        ~ 'coalesce(not bool_or(has_null) and bool_or(has_name and lacks), false) as come_and_go '
        ~ 'from (select ' ~ has_name ~ ' as has_name, ' ~ lacks ~ ' as lacks, coalesce(has_null, false) as has_null '
        ~ 'from (' ~ images ~ '))')[0]) %}
{% endmacro %}


{#- What comes before is of the old name: another instance has it. One that is published has begun. -#}
{% macro _begin_at(instances, lsn, window) %}
    {% set lost_lsn = dbt_cdc.decrement_lsn(lsn) %}
    {% for instance in instances
        if instance.capture_from != 'log_start' and instance.name | lower not in window.published %}
        {% do dbt_cdc._update_metadata('change_tables', instance, {
            'start_lsn': "greatest(start_lsn, '" ~ lsn ~ "')", 'lost_lsn': "greatest(lost_lsn, '" ~ lost_lsn ~ "')"}) %}
        {% do instance.registered.update(
            start_lsn=[instance.registered.start_lsn, lsn] | max,
            lost_lsn=[instance.registered.lost_lsn or '', lost_lsn] | max) %}
    {% endfor %}
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
        ~ ' and array_contains(' ~ dbt_cdc._image_keys() ~ ', ' ~ dbt_cdc._literal(new.column_name) ~ ')'
    )[0].lsn) %}
{% endmacro %}
