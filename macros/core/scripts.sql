{#- Statements that are sent as one script. -#}

{#- The rows of `query` after `write`, in one statement. -#}
{% macro _write_and_fetch(write, query) %}
    {% do return(dbt_cdc._fetch(dbt_cdc._script(write, query))) %}
{% endmacro %}


{#- The same as the main statement of a model. -#}
{% macro _main_write_and_fetch(write, query) %}
    {% call statement('main', fetch_result=true) -%}
        {{ dbt_cdc._script(write, query) }}
    {%- endcall %}
    {% do return(dbt_cdc._dictionaries(load_result('main').table)) %}
{% endmacro %}


{% macro _script(write, query) -%}
begin
    {{ dbt_cdc._indent(write, 4) }};
    {{ dbt_cdc._indent(query, 4) }};
end
{%- endmacro %}


{#- Several statements as one. Those that are `repeatable` are tried again, all of them, where other runs have raced
    one. -#}
{% macro _run_all(statements, is_repeatable=false) %}
    {% set all = statements | join(';\n') %}
    {% if is_repeatable %}
        {% do run_query(dbt_cdc._on_failure(all, all)) %}
    {% else %}
        {% do run_query('begin\n' ~ all ~ ';\nend') %}
    {% endif %}
{% endmacro %}


{#- A `create ... if not exists` that other runs may race: where they win, Delta refuses it until their
    table is in the catalog; a later attempt finds it there. -#}
{% macro _create_once(create) -%}
    {{ dbt_cdc._on_failure(create, dbt_cdc._on_failure(create, create)) }}
{%- endmacro %}


{#- A statement on a table in which models of several threads write each its own rows: Delta lets one at a time
    through, so the others try again until it is their turn. -#}
{% macro _in_turn(statement) -%}
begin
    declare attempt int default 0;
    declare is_done boolean default false;
    while not is_done do
        begin
            declare exit handler for sqlexception
            begin
                set attempt = attempt + 1;
                if attempt > 100 then
                    {{ dbt_cdc._indent(statement, 20) }};
                end if;
            end;
            {{ dbt_cdc._indent(statement, 12) }};
            set is_done = true;
        end;
    end while;
end
{%- endmacro %}


{#- A script that runs `handler` where `statements` fail. -#}
{% macro _on_failure(statements, handler) -%}
begin
    declare exit handler for sqlexception
    begin
        {{ dbt_cdc._indent(handler, 8) }};
    end;
    {{ dbt_cdc._indent(statements, 4) }};
end
{%- endmacro %}
