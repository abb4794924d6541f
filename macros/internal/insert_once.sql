{#- An INSERT that can be repeated and raced: `guard` is false where its rows are already there, and
    since it reads the target, Delta refuses the second of two at once. The handler then tries
    again, which adds nothing if the other one has done the work. An error in the rows comes out of
    a plain SELECT that needs all columns as one line: out of the INSERT it would be a Java stack
    (docs/decisions/0001). -#}
{% macro _insert_once(target, rows, guard) -%}
    {%- set insert = dbt_cdc._guarded_insert(target, rows, guard) -%}
    {%- if var('cdc_sql_scripting', true) -%}
begin
    declare exit handler for sqlexception
    begin
        select max(hash(*)) from (
            {{ dbt_cdc._indent(rows, 12) }}
        );
        {{ dbt_cdc._indent(insert, 8) }};
    end;
    {{ dbt_cdc._indent(insert, 4) }};
end
    {%- else -%}
{{ insert }}
    {%- endif -%}
{%- endmacro %}


{#- The same for rows that can also be had in another way: answers `done` or `failed`. -#}
{% macro _try_insert(target, rows, guard) -%}
begin
    declare exit handler for sqlexception
    begin
        select 'failed' as outcome;
    end;
    {{ dbt_cdc._indent(dbt_cdc._guarded_insert(target, rows, guard), 4) }};
    select 'done' as outcome;
end
{%- endmacro %}


{% macro _guarded_insert(target, rows, guard) -%}
insert into {{ target }}
select * from (
    {{ dbt_cdc._indent(rows, 4) }}
)
where {{ guard }}
{%- endmacro %}


{#- A `create ... if not exists` that other runs may race: where they win, Delta refuses it, and the
    handler's attempt finds what they have made. -#}
{% macro _create_once(create) -%}
    {%- if var('cdc_sql_scripting', true) -%}
begin
    declare exit handler for sqlexception
    begin
        {{ dbt_cdc._indent(create, 8) }};
    end;
    {{ dbt_cdc._indent(create, 4) }};
end
    {%- else -%}
{{ create }}
    {%- endif -%}
{%- endmacro %}
