{#- The steps up to `placed`: the images that are bad, and the column because of which, `place`; NULL where it is no
    column. `typed` are the steps that find misfits. -#}
{% macro _placed_misfits(instance, typed) -%}
    {%- set lost = [] -%}
    {%- for column in instance.columns -%}
        {%- do lost.append('if(image.' ~ dbt_cdc._column(column.name) ~ ' is null, '
            ~ dbt_cdc._literal(column.name) ~ ", '')") -%}
    {%- endfor -%}
{{ typed }},

bad as (
    select
        *,
        {{ dbt_cdc._indent(dbt_cdc._misfit(instance), 8) }} as misfit,
        if(row_operation in (1, 3), 'before', 'after') as side,
        from_json(text, 'map<string,string>', map('allowSingleQuotes', 'false')) as texts
    from typed
    where is_misfit
),

placed as (
    select
        *,
        case
            when misfit <> '' then misfit
            when if(side = 'before', {{ dbt_cdc._logged_before(instance) }}, post) is not null then get(array_intersect(
                array({{ dbt_cdc._flow(lost, ', ', 16) }}),
                map_keys(map_filter(texts, (name, value) -> value is not null))
            ), 0)
        end as place
    from bad
)
{%- endmacro %}
