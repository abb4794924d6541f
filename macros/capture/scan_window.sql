{#- The window that change tables capture and the publication publishes, resolved once in a command and only
    by reading: {previous_lsn, to_lsn, floor_lsn, published, ...}. `previous_lsn` is exclusive, `to_lsn`
    inclusive and none where there is nothing to capture; `floor_lsn` is the first record of any transaction
    that commits in the window; `published` lists the instances that were part of the last publication. It is
    the one that stands open; where none does, `dbt compile` takes the one that a run would open. Unit tests
    override this macro. -#}
{% macro scan_window() %}
    {% set cache = dbt_cdc._invocation_cache() %}
    {% if 'window' not in cache %}
        {% set window = dbt_cdc._window_to_scan() %}
        {% if window.log_end %}
            {% set window = dict(window, to_lsn=none, is_missing=true) if dbt_cdc._is_building()
                else dbt_cdc._window_before_a_run(window) %}
        {% endif %}
        {% if window.to_lsn %}
            {% do dbt_cdc._plan_instances(window, enters_new=not dbt_cdc._is_building()) %}
            {% if dbt_cdc._is_building() %}
                {#- the run that opened it may have stopped there -#}
                {% do dbt_cdc._check_reaches_floor(window) %}
                {% do dbt_cdc._check_spelling(window) %}
                {% do dbt_cdc._check_names_of_window(
                    dict(window, touched_tables=dbt_cdc._touched_by_command(window))) %}
            {% endif %}
            {% do window.update(versions=dbt_cdc._window_versions(window)) %}
            {% do dbt_cdc._enter_phase(3) %}
        {% endif %}
        {% do cache.update(window=window) %}
    {% endif %}
    {% do return(cache.window) %}
{% endmacro %}


{#- The touched tables that the command captures: it may be the task of one of many models. Who publishes settles what
    is known of all. -#}
{% macro _touched_by_command(window) %}
    {% set models, tables = [], [] %}
    {#- dbt retry does not say what it runs -#}
    {% do return(window.touched_tables) if not selected_resources %}
    {% for id in selected_resources if id in graph.nodes %}
        {% do return(window.touched_tables) if graph.nodes[id].config.materialized == 'publication' %}
        {% do models.append(graph.nodes[id].name) %}
    {% endfor %}
    {% for instance in dbt_cdc._capture_instances().values() if instance.model in models %}
        {% do tables.append(dbt_cdc._source_of(instance)) %}
    {% endfor %}
    {% do return(window.touched_tables | select('in', tables) | list) %}
{% endmacro %}


{#- The window that a run would open, its transactions taken out of the log instead of scan_transactions. -#}
{% macro _window_before_a_run(window) %}
    {% set transactions -%}
        (
            {{ dbt_cdc._indent(dbt_cdc._scan_rows(window), 12) }}
        )
    {%- endset %}
    {% set rows = dbt_cdc._fetch(dbt_cdc._open_windows_sql(window.previous_lsn, transactions)) %}
    {% do return(dict(
        window, transactions_relation=transactions, **dbt_cdc._window_of(rows[0], window.previous_lsn)
    )) %}
{% endmacro %}
