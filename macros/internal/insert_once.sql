{#- An INSERT that can be repeated and raced: `guard` is false where its rows are already there, and
    since it reads the target, Delta refuses the second of two at once. The handler then tries
    again, which adds nothing if the other one has done the work (docs/decisions/0001). -#}
{% macro _insert_once(target, rows, guard) -%}
    {{ dbt_cdc._write_once(dbt_cdc._guarded_insert(target, rows, guard), rows) }}
{%- endmacro %}


{#- A statement that writes `rows` and can be repeated; where it fails, it is tried again, as where
    another client wrote at the same time. An error in the rows comes out of a plain SELECT that needs all
    columns as one line: out of the statement it would be a Java stack. -#}
{% macro _write_once(write, rows) -%}
    {%- set probe_and_write -%}
select max(hash(*)) from (
    {{ dbt_cdc._indent(rows, 4) }}
);
{{ write }}
    {%- endset -%}
    {{ dbt_cdc._on_failure(write, probe_and_write) }}
{%- endmacro %}


{#- The same for rows that can also be had in another way: answers `done` or `failed`. Without a guard for
    the first writer of rows. -#}
{% macro _try_insert(target, rows, guard) -%}
    {%- set insert -%}
{{ dbt_cdc._guarded_insert(target, rows, guard) }};
select 'done' as outcome
    {%- endset -%}
    {{ dbt_cdc._on_failure(insert, "select 'failed' as outcome") }}
{%- endmacro %}


{% macro _guarded_insert(target, rows, guard) -%}
insert into {{ target }}
select * from (
    {{ dbt_cdc._indent(rows, 4) }}
)
{%- if guard %}
where {{ guard }}
{%- endif %}
{%- endmacro %}


{#- A `create ... if not exists` that other runs may race: where they win, Delta refuses it, and the
    second attempt finds what they have made. -#}
{% macro _create_once(create) -%}
    {{ dbt_cdc._on_failure(create, create) }}
{%- endmacro %}


{#- A script that runs `handler` where `statements` fail; without scripting, `statements` alone. -#}
{% macro _on_failure(statements, handler) -%}
    {%- if var('cdc_sql_scripting', true) -%}
begin
    declare exit handler for sqlexception
    begin
        {{ dbt_cdc._indent(handler, 8) }};
    end;
    {{ dbt_cdc._indent(statements, 4) }};
end
    {%- else -%}
{{ statements }}
    {%- endif -%}
{%- endmacro %}
