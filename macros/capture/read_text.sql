{#- Images are read as texts, numbers with all their digits, each text brought into a form that a cast
    reads without loss; NULL where it does not fit the column. -#}

{#- What the images say, as (problem, before, after, unknown): arrays of texts in column order that a
    cast reads without loss, what is absent filled in; `unknown` names the columns whose old value a
    partial before image does not tell. One expression over arrays: the rules stand in it once for
    each type, not for each column. -#}
{% macro _read_images(instance) -%}
    {%- set columns = instance.columns -%}
    {%- set body -%}
        named_struct(
            'problem', {{ dbt_cdc._indent(dbt_cdc._image_problem(instance), 12) }},
            'before', {{ dbt_cdc._indent(dbt_cdc._complete_before(instance), 12) }},
            'after', {{ dbt_cdc._indent(dbt_cdc._complete_after(columns), 12) }},
            'unknown', array_intersect({{ dbt_cdc._names(columns) }}, keys.before_lacks)
        )
    {%- endset -%}
    {%- set body = dbt_cdc._let('keys', dbt_cdc._lacking_keys(), body) -%}
    {%- set body = dbt_cdc._let('listed', dbt_cdc._listed_keys(), body) -%}
    {%- set body = dbt_cdc._let('fitted', dbt_cdc._of_both_images(
        dbt_cdc._fitted_texts('texts.before', columns),
        dbt_cdc._fitted_texts('texts.after', columns)), body) -%}
    {%- set body = dbt_cdc._let('texts', dbt_cdc._of_both_images(
        dbt_cdc._column_texts('parsed.images[0]', columns),
        dbt_cdc._column_texts('parsed.images[1]', columns)), body) -%}
    {{ dbt_cdc._let('parsed', dbt_cdc._parse_images(
        columns, none, dbt_cdc._exact_image('before_image', columns),
        dbt_cdc._exact_image('after_image', columns)), body) }}
{%- endmacro %}


{#- Both images in one parse, {"images": [before, after]}, so that anything behind an image is an
    error too. `types` are the columns' in their order; without them all is read as text. -#}
{% macro _parse_images(columns, types=none, before_image='before_image', after_image='after_image') -%}
    {%- set fields = [] -%}
    {%- for column in columns -%}
        {%- do fields.append(
            dbt_cdc._column(column.name) ~ ': ' ~ (types[loop.index0] if types else 'string')) -%}
    {%- endfor -%}
    from_json(
        concat(
            '{"images":[', coalesce({{ before_image }}, '{}'),
            ',', coalesce({{ after_image }}, '{}'), ']}'
        ),
        {{ dbt_cdc._literal(
            'images array<struct<' ~ fields | join(', ') ~ '>>, malformed string') }},
        map(
            'columnNameOfCorruptRecord', 'malformed',
            'allowSingleQuotes', 'false',
            'allowNonNumericNumbers', 'false'
        )
    )
{%- endmacro %}


{#- `body` with a name for the value of an expression. -#}
{% macro _let(name, expression, body) -%}
    transform(array(
        {{ dbt_cdc._indent(expression, 8) }}
    ), {{ name }} -> {{ dbt_cdc._indent(body, 4) }})[0]
{%- endmacro %}


{% macro _of_both_images(before, after) -%}
    named_struct(
        'before', {{ dbt_cdc._indent(before, 8) }},
        'after', {{ dbt_cdc._indent(after, 8) }}
    )
{%- endmacro %}


{% macro _column_texts(image, columns) -%}
    array(
        {%- for column in columns %}
        {{ image }}.{{ dbt_cdc._column(column.name) }}{{ ',' if not loop.last }}
        {%- endfor %}
    )
{%- endmacro %}


{#- The texts as a cast reads them, NULL where it would not. -#}
{% macro _fitted_texts(texts, columns) -%}
    {%- set types = [] -%}
    {%- for column in columns -%}
        {%- do types.append(column.data_type | lower | trim) -%}
    {%- endfor -%}
    {%- set checked = types | unique | reject('equalto', 'string') | list -%}
    {%- if not checked -%}
    {{ texts }}
    {%- else -%}
    transform({{ texts }}, (text, i) -> case array('{{ types | join("', '") }}')[i]
        {%- for data_type in checked %}
        when '{{ data_type }}' then filter(
            array({{ dbt_cdc._indent(dbt_cdc._fit('text', data_type), 12) }}),
            fitted -> {{ dbt_cdc._text_value('fitted', data_type) }} is not null
        )[0]
        {%- endfor %}
        else text
    end)
    {%- endif -%}
{%- endmacro %}


{#- JSON numbers with a fraction or an exponent, and -0, change on their way to text. Where
    that would lose digits (decimal, bigint) or their spelling (string), they are quoted first.
    Inside a JSON string a quote is always escaped, so the pattern matches keys only. -#}
{% macro _exact_image(image, columns) -%}
    {%- set keys = [] -%}
    {%- for column in columns
        if dbt_cdc._type_family(column.data_type) in ['decimal', 'string', 'text']
            or column.data_type | lower in ['bigint', 'long'] -%}
        {%- for key in [tojson(column.name), '"' ~ column.name ~ '"'] | unique -%}
            {%- do keys.append(modules.re.escape(key[1:-1])) -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- if not keys -%}
        {{ image }}
    {%- else -%}
        {%- set names = keys | join('|') if keys | length <= 100 else '[^"]*' -%}
        {%- set pattern = '(?<!\\\\)("(?:' ~ names ~ ')"\\s*:\\s*)(-?[0-9]+[.eE][-+.0-9eE]*|-0(?=[\\s,}]))' -%}
        regexp_replace({{ image }}, {{ dbt_cdc._literal(pattern) }}, '$1"$2"')
    {%- endif -%}
{%- endmacro %}
