{#- What the text of a DDL statement tells beyond the list of columns that it leaves. It is asked only
    for what the list cannot tell: the list decides. -#}

{#- Any spelling of an identifier in a statement, as a regular expression. -#}
{% macro _identifier_pattern() %}
    {% do return('(?:"[^"]+"|`[^`]+`|\\[[^\\]]+\\]|[^\\s,;()]+)') %}
{% endmacro %}


{% macro _bare_identifier(text) %}
    {% do return(text.split('.')[-1].strip('"`[]\'') | lower) %}
{% endmacro %}


{#- Whether the statement gives the column another type. -#}
{% macro _alters_column(command, column) %}
    {% set name = modules.re.escape(column) %}
    {% do return(modules.re.search(
        '\\b(alter|modify|change)\\s+(column\\s+)?\\(?\\s*["`\\[]?' ~ name
        ~ '["`\\]]?(?=[\\s)])(?!\\s+(set\\s+(?!data\\b)|drop\\b|add\\b|rename\\b|to\\b))',
        command or '', modules.re.IGNORECASE
    ) is not none) %}
{% endmacro %}


{#- The columns that the statement renames: {old: new}, in lower case. -#}
{% macro _renamed_columns(command) %}
    {% set name = dbt_cdc._identifier_pattern() %}
    {% set renamed = {} %}
    {% for pattern in [
        '\\brename\\s+column\\s+(' ~ name ~ ')\\s+to\\s+(' ~ name ~ ')',
        "\\bsp_rename\\s+n?'([^']+)'\\s*,\\s*n?'([^']+)'\\s*,\\s*n?'column'",
        '\\bchange\\s+(?:column\\s+)?(' ~ name ~ ')\\s+(' ~ name ~ ')',
    ] %}
        {% for pair in modules.re.findall(pattern, command or '', modules.re.IGNORECASE) %}
            {% set old, new = dbt_cdc._bare_identifier(pair[0]), dbt_cdc._bare_identifier(pair[1]) %}
            {% do renamed.update({old: new}) if old != new %}
        {% endfor %}
    {% endfor %}
    {% do return(renamed) %}
{% endmacro %}


{% macro _renames_table(command) %}
    {% do return(modules.re.search(
        "\\brename\\s+(to\\b|table\\b)|\\bsp_rename\\s+n?'[^']+'\\s*,\\s*n?'[^']+'\\s*(;|$|,\\s*n?'object')",
        command or '', modules.re.IGNORECASE
    ) is not none) %}
{% endmacro %}


{#- Whether the statement drops the primary key, or the index of that name. -#}
{% macro _drops_key(command, index_name) %}
    {% set pattern = '\\bdrop\\s+(primary\\s+key|constraint\\s+(if\\s+exists\\s+)?\\S*(pk|pkey|primary))' %}
    {% if index_name %}
        {% set pattern = pattern ~ '|\\bdrop\\s+(index|constraint)\\s+(if\\s+exists\\s+)?\\S*'
            ~ modules.re.escape(index_name) %}
    {% endif %}
    {% do return(modules.re.search(pattern, command or '', modules.re.IGNORECASE) is not none) %}
{% endmacro %}
