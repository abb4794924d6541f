{#- An INSERT that can be repeated and raced: its rows are already there where the target has any of which
    `is_there` holds, and since it reads the target, Delta refuses the second of two at once. The handler then tries
    again, which adds nothing if the other one has done the work (docs/decisions/0001). The first writer
    of rows needs no guard at the first attempt. `diagnosis` is a SELECT that finds out what is wrong. -#}
{% macro _insert_once(target, rows, is_there, is_first=false, diagnosis=none) -%}
    {{ dbt_cdc._write_once(
        dbt_cdc._guarded_insert(target, rows, none if is_first else is_there), rows,
        dbt_cdc._guarded_insert(target, rows, is_there), diagnosis
    ) }}
{%- endmacro %}


{#- A statement that writes `rows` and can be repeated; where it fails, it is tried again, as where
    another client wrote at the same time. An error in the rows comes out of a plain SELECT that needs all
    columns as one line: out of the statement it would be a Java stack. -#}
{% macro _write_once(write, rows, write_again=none, diagnosis=none) -%}
    {%- set probe_and_write -%}
{%- if diagnosis %}
{{ diagnosis }};
{%- endif %}
select max(length(to_json(struct(*)))) from (
    {{ dbt_cdc._indent(rows, 4) }}
);
{{ write_again or write }}
    {%- endset -%}
    {{ dbt_cdc._on_failure(write, probe_and_write) }}
{%- endmacro %}


{#- By name, as somebody may have put the columns of a table in another order. -#}
{% macro _guarded_insert(target, rows, is_there) -%}
insert into {{ target }} by name
select * from (
    {{ dbt_cdc._indent(rows, 4) }}
) as appended
{%- if is_there %}
where not exists (select 1 from {{ target }} where {{ is_there }})
{%- endif %}
{%- endmacro %}


{#- Replaces a view of what is published, unless another run has brought it further: a condition on its
    rows. Where this run knows of no view, one of two first runs makes it, and the other finds it. -#}
{% macro _unless_overtaken(view, is_further, replace) -%}
    {%- set query -%}
        select 1 from {{ view }}
        where
            {{ dbt_cdc._indent(is_further, 12) }}
    {%- endset -%}
    {%- set guarded = dbt_cdc._unless_exists(query, replace) -%}
    {%- if load_cached_relation(view) is none -%}
begin
    {{ dbt_cdc._indent(replace.replace('create or replace view', 'create view if not exists', 1), 4) }};
    {{ dbt_cdc._indent(guarded, 4) }};
end
    {%- else -%}
{{ guarded }}
    {%- endif -%}
{%- endmacro %}


{#- A write that is not needed any more where a query has a row: others are further. -#}
{% macro _unless_exists(query, write) -%}
begin
    if not exists (
        {{ dbt_cdc._indent(query, 8) }}
    ) then
        {{ dbt_cdc._indent(write, 8) }};
    end if;
end
{%- endmacro %}
