{#- An INSERT that can be repeated and raced: `guard` is false where its rows are already there, and
    since it reads the target, Delta refuses the second of two at once. The handler then tries
    again, which adds nothing if the other one has done the work. An error in the rows comes out of
    a plain SELECT of `probe` as one line: out of the INSERT it would be a Java stack
    (docs/decisions/0001). -#}
{% macro _insert_once(target, rows, guard, probe='*') -%}
    {%- set insert -%}
        insert into {{ target }}
        select * from (
            {{ dbt_cdc._indent(rows, 12) }}
        )
        where {{ guard }}
    {%- endset -%}
    {%- if var('cdc_sql_scripting', true) -%}
begin
    declare exit handler for sqlexception
    begin
        select count({{ probe }}) from (
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
