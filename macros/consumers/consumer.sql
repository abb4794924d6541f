{#- The model that consumes, resolved once in a command: {name, unique_id, kind (its materialization), is_there,
    starts_over, is_open, bookmarks, instances, intervals, waits_for, windows (by instance) and texts (what new_changes
    gave)}. All consumers of a command see the same published ends. -#}
{% macro _consumer() %}
    {% set cache = dbt_cdc._invocation_cache() %}
    {% set consumers = cache.setdefault('consumers', {}) %}
    {% set name = dbt_cdc._consumer_name(model) %}
    {% do consumers.update({name: dbt_cdc._resolve_consumer(name)}) if name not in consumers %}
    {% do return(consumers[name]) %}
{% endmacro %}


{% macro _resolve_consumer(name) %}
    {% set is_model = model.resource_type == 'model' %}
    {% set kind = config.get('materialized') if model.resource_type in ['model', 'snapshot'] else 'incremental' %}
    {% do dbt_cdc._check_consumer(kind) %}
    {% set state = dbt_cdc._consumed_state() %}
    {% set existing = load_cached_relation(this) if is_model else none %}
    {% set is_there = existing is not none %}
    {% set has_history = is_there and dbt_cdc._has_history(existing) %}
    {% set consumer = {
        'name': name, 'unique_id': model.unique_id, 'kind': kind, 'is_there': is_there, 'windows': {}, 'texts': [],
        'is_open': false,
        'starts_over': is_model and (not is_there or should_full_refresh()),
        'bookmarks': state.bookmarks.get(name, {}), 'instances': state.instances,
        'intervals': state.intervals, 'waits_for': dbt_cdc._bookmark_to_wait_for(state) if is_model else none,
        'told_bookmark': ((state.bookmarks.values() | list + [{}])[0].values() | list + [none])[0],
    } %}
    {% do dbt_cdc._check_is_same_table(consumer) if dbt_cdc._is_building() and not consumer.starts_over %}
    {% do dbt_cdc._settle_open_bookmarks(consumer) if has_history %}
    {% do dbt_cdc._check_is_same_kind(consumer) if dbt_cdc._is_building() and is_there and not consumer.starts_over %}
    {#- dbt would append to a table of another format, and put one with the latest changes alone in a view's place -#}
    {% set has_consumed = consumer.bookmarks.values() | selectattr('last_lsn') | list | length > 0 %}
    {% set is_other = is_there and not has_history
        and (has_consumed or kind == 'incremental' and not existing.is_view) %}
    {#- where one in a package had its bookmark before -#}
    {% set older = name[name.index('.') + 1:] if model.package_name != project_name else none %}
    {% if is_there and (dbt_cdc._is_building() or flags.EMPTY and has_consumed) and not consumer.starts_over
        and (is_other or not consumer.bookmarks and not dbt_cdc._is_still_empty(consumer)) %}
        {% set older = older if older in state.bookmarks
            else (dbt_cdc._orphans_of_this_table(state.bookmarks) + [none])[0] %}
        {% do dbt_cdc.raise_cdc_error(
            2714, ('view ' if existing.is_view else 'table ') ~ this ~ ' exists' ~ (
                ', and the bookmark of ' ~ name ~ ' tells of a table of Delta' if has_consumed
                else ' and no bookmark tells what it holds'),
            dbt_cdc._rebuild_command(name) ~ ' replaces it' ~ (
                "; if it is what '" ~ older ~ "' was, take its bookmark over: update "
                ~ dbt_cdc._state_relation('consumer_bookmarks') ~ " set consumer = '" ~ name ~ "' where consumer = '"
                ~ older ~ "'" if older and not has_consumed)
        ) %}
    {% endif %}
    {% do return(consumer) %}
{% endmacro %}


{#- The rows of one materialization are not those of another: deletes that one left, versions, changes. -#}
{% macro _check_is_same_kind(consumer) %}
    {% for bookmark in consumer.bookmarks.values() if bookmark.last_lsn
        and bookmark.get('kind') not in [none, consumer.kind] %}
        {% do dbt_cdc.raise_cdc_error(
            2714, 'table ' ~ this ~ ' was written as ' ~ bookmark.kind ~ ', and ' ~ consumer.name ~ ' is '
            ~ consumer.kind ~ ' now', dbt_cdc._rebuild_command(consumer.name) ~ ' replaces it; or take the edit of '
            ~ 'materialized back'
        ) %}
    {% endfor %}
{% endmacro %}


{#- The consumers that no model of the project is any more. -#}
{% macro _without_a_model(bookmarks) %}
    {% set names = [] %}
    {% for node in graph.nodes.values() if node.resource_type == 'model' %}
        {% do names.append(dbt_cdc._consumer_name(node)) %}
    {% endfor %}
    {% do return(bookmarks | reject('in', names) | sort) %}
{% endmacro %}


{#- Those of them whose bookmarks tell of this very table; else those that do not say of which. -#}
{% macro _orphans_of_this_table(bookmarks) %}
    {% set ours, others = [], [] %}
    {% for name in dbt_cdc._without_a_model(bookmarks) %}
        {% set tables = bookmarks[name].values() | map(attribute='relation') | select | list %}
        {% do (ours if dbt_cdc._told_name(this) in tables else others if not tables else []).append(name) %}
    {% endfor %}
    {% do return(ours or others) %}
{% endmacro %}


{#- Whether the model's table has no rows, as after `dbt run --empty`: its history tells it at less cost than its
    files. -#}
{% macro _is_still_empty(consumer) %}
    {% set commit = dbt_cdc._last_commit(consumer) %}
    {% do return(true)
        if commit.operation in dbt_cdc._makes_of_a_table() and dbt_cdc._metric(commit, 'numOutputRows') == 0 %}
    {% do return(dbt_cdc._fetch('select 1 from ' ~ this ~ ' limit 1') | length == 0) %}
{% endmacro %}


{#- What dbt does not read when it parses a model gives it no hooks, and its bookmark would never move. -#}
{% macro _check_hooks() %}
    {% if dbt_cdc._is_building() and model.resource_type == 'model'
        and 'model.dbt_cdc.consumer_bookmarks' not in dbt_cdc._parents_of_model() %}
        {% do dbt_cdc.raise_cdc_error(
            22938, 'model ' ~ model.name ~ ' takes new_changes where dbt does not see it when it parses',
            'take it outside of {' ~ '% if is_incremental() %' ~ '} and the like: in a first run it gives all changes'
        ) %}
    {% endif %}
{% endmacro %}


{% macro _check_consumer(kind) %}
    {% if kind not in ['incremental', 'replica', 'history'] %}
        {% do dbt_cdc.raise_cdc_error(
            22938, model.resource_type ~ ' ' ~ model.name ~ " takes new_changes and is materialized as '" ~ kind ~ "'",
            "what it has consumed is kept in its table; set materialized to 'replica', 'history' or "
            ~ "'incremental'"
        ) %}
    {% elif kind == 'incremental' and model.resource_type == 'model' and target.type == 'spark'
        and (config.get('file_format') or '') | lower != 'delta' %}
        {% do dbt_cdc.raise_cdc_error(
            22938, 'model ' ~ model.name ~ " takes new_changes and its file_format is '"
            ~ (config.get('file_format') or 'not set') ~ "'",
            "a run that died is recognised by Delta's history of the table; set file_format='delta'"
        ) %}
    {% endif %}
{% endmacro %}


{#- What all consumers of a command start from: {intervals, bookmarks, instances}. Where several threads have read it,
    that of the first one counts for all: another run may have published between. -#}
{% macro _consumed_state() %}
    {% set cache = dbt_cdc._invocation_cache() %}
    {% if 'consumed_state' not in cache %}
        {% do dbt_cdc._check_session_settings() if dbt_cdc._is_building() %}
        {% set intervals = cache.get('published_intervals') or dbt_cdc._published_state().intervals %}
        {% do cache.setdefault('consumed_state', dict(dbt_cdc._consumed_so_far(), intervals=intervals)) %}
    {% endif %}
    {% do return(cache.consumed_state) %}
{% endmacro %}


{#- Bookmarks by consumer and instance, and what is entered of each instance by lower-case name; `lost_lsn`:
    up to it changes may be missing (none: none is). -#}
{% macro _consumed_so_far() %}
    {% set found = {'bookmarks': {}, 'instances': {}} %}
    {% if dbt_cdc._has_state('change_tables') %}
        {% set bookmarks = dbt_cdc._as_json(dbt_cdc._bookmarks_sql())
            if dbt_cdc._has_state('consumer_bookmarks') else "'[]'" %}
        {% set row = dbt_cdc._fetch(
            'select (' ~ bookmarks ~ ') as bookmarks, ('
            ~ dbt_cdc._as_json(dbt_cdc._registered_state_sql()) ~ ') as instances'
        )[0] %}
        {% do found.update(bookmarks=dbt_cdc._bookmarks(fromjson(row.bookmarks))) %}
        {% for name, instance in dbt_cdc._registered_state(fromjson(row.instances)).items() %}
            {% do found.instances.update({name: dict(
                instance, relation=dbt_cdc._change_table_of(instance.capture_instance)
            )}) %}
        {% endfor %}
    {% endif %}
    {% do return(found) %}
{% endmacro %}
