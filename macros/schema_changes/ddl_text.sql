{#- What the text of a DDL statement tells beyond the list of columns that it leaves. It is asked only
    for what the list cannot tell: the list decides. -#}

{#- Any spelling of a name in a statement, with or without its schema, as a regular expression. -#}
{% macro _identifier_pattern() %}
    {% set part = '(?:' ~ dbt_cdc._quoted_pattern() ~ '|[^\\s,;().]+)' %}
    {% do return(part ~ '(?:\\.' ~ part ~ ')*') %}
{% endmacro %}


{% macro _quoted_pattern() %}
    {% do return('"[^"]+"|`[^`]+`|\\[[^\\]]+\\]') %}
{% endmacro %}


{#- The last part of a name, without its quotes. -#}
{% macro _bare_identifier(text) %}
    {% set name = modules.re.findall(dbt_cdc._quoted_pattern() ~ '|[^.]+', text)[-1] %}
    {% do return(name[1:-1] if name[0] in '"`[' else name) %}
{% endmacro %}


{#- The statement without its comments. Where databases differ in where a text ends, as at a backslash before a quote,
    also as it is: what one reading hides the other shows. -#}
{% macro _read_twice(command) %}
    {% set bare = dbt_cdc._without_comments(command) %}
    {% do return(dbt_cdc._with_hash_comments(bare)
        ~ (' ;\n' ~ command if bare != (command or '') and "\\'" in command)) %}
{% endmacro %}


{#- The text, and where it has a # as well what is left where that begins a comment, as in MySQL. -#}
{% macro _with_hash_comments(text) %}
    {% do return(text ~ (' ;\n' ~ modules.re.sub('(?<!\\S)#[^\\n]*', ' ', text) if '#' in text)) %}
{% endmacro %}


{#- Without its comments; of those that MySQL executes the text stays. -#}
{% macro _without_comments(command, has_escapes=true) %}
    {% do return(command or '') if not modules.re.search('/[*]|--|#', command or '') %}
    {% set parts = [] %}
    {% for part in modules.re.split(
        '(?s)' ~ dbt_cdc._quoted_texts(has_escapes)
        ~ '|/\\*(?!M?!).*?\\*/|/\\*M?!\\d*|\\*/|--[^\\n]*|(?<!\\S)#(?=[\\s!])[^\\n]*', command
    ) %}
        {% do parts.append(' ' if part is none else part) %}
    {% endfor %}
    {% do return(parts | join) %}
{% endmacro %}


{#- A text, or a quoted name, as a group. In some databases a backslash takes away what the quote behind it means. -#}
{% macro _quoted_texts(has_escapes=true) %}
    {% set sign = "[^'\\\\]|\\\\." if has_escapes else "[^']" %}
    {% do return("('(?:" ~ sign ~ "|'')*'" ~ '|"(?:[^"]|"")*"|`[^`]*`)') %}
{% endmacro %}


{#- Without comments and texts, which may read like statements; in double quotes may be a text or a name. Names with
    signs of SQL are kept or lose these. As in _read_twice, what one reading hides the other shows. -#}
{% macro _without_literals(command, keeps_names=true) %}
    {% set readings = [] %}
    {% for has_escapes in [true, false] if has_escapes or "\\'" in (command or '') %}
        {% set parts = [] %}
        {% for part in modules.re.split(
            '(?s)' ~ dbt_cdc._quoted_texts(has_escapes), dbt_cdc._without_comments(command, has_escapes)
        ) %}
            {% set is_text = loop.index is even and (part[0] == "'" or part[0] == '"'
                and modules.re.search('(?i)\\b(comment|default)\\s*=?\\s*$', loop.previtem)) %}
            {% do parts.append("''" if is_text else part if keeps_names or loop.index is odd
                else modules.re.sub("[;,']", '', part)) %}
        {% endfor %}
        {% do readings.append(dbt_cdc._with_hash_comments(parts | join)) %}
    {% endfor %}
    {#- an apostrophe behind a # is no quote where that begins a comment -#}
    {% set bare = modules.re.sub('(?<!\\S)#[^\\n]*', ' ', command or '') %}
    {% do readings.append(dbt_cdc._without_literals(bare, keeps_names)) if bare != (command or '') %}
    {% do return(readings | join(' ;\n')) %}
{% endmacro %}


{#- Of a text of several statements those that name the table. -#}
{% macro _statements_of(command, table) %}
    {% set text, own = dbt_cdc._without_literals(command, keeps_names=false), [] %}
    {#- names are literals there -#}
    {% set text = command if 'sp_rename' in (command or '') | lower else text %}
    {% for statement in (text or '').split(';') if modules.re.search(
        '(?<!\\w)' ~ modules.re.escape(table) ~ '(?!\\w)', statement, modules.re.IGNORECASE) %}
        {% do own.append(statement) %}
    {% endfor %}
    {% do return(own | join(';')) %}
{% endmacro %}


{#- Whether the statement makes a table. -#}
{% macro _makes_table(command) %}
    {% do return(dbt_cdc._begins_with(command, 'create\\s')) %}
{% endmacro %}


{#- Whether it makes one in the place of another. -#}
{% macro _replaces_table(command) %}
    {% do return(dbt_cdc._begins_with(command, 'create\\s+or\\s+replace\\s+table\\b')) %}
{% endmacro %}


{% macro _begins_with(command, words) %}
    {% do return(modules.re.match(
        '(?:\\s+|#[^\\n]*\\n)*' ~ words, dbt_cdc._without_comments(command), modules.re.IGNORECASE) is not none) %}
{% endmacro %}


{#- Whether the statement, as _without_literals gives it, gives the column another type. A statement begins with what it
    alters; of MySQL's indexes a clause alters whether they are visible. -#}
{% macro _alters_column(text, column) %}
    {% set name = modules.re.escape(column) %}
    {#- Oracle modifies several in brackets -#}
    {% set before = '(?:alter|modify)\\s*(?:column\\s*)?\\((?:(?:[^()]|\\((?:[^()]|\\([^()]*\\))*\\))*,)?' %}
    {% do return(modules.re.search(
        '\\b((alter|modify|change)\\s+(column\\s+|(?!column\\s))(if\\s+exists\\s+)?|' ~ before ~ ')\\s*["`\\[]?' ~ name
        ~ '["`\\]]?(?=[\\s)])(?!\\s+(set\\s+(?!data\\b)|drop\\b|add\\b|rename\\b|to\\b))',
        modules.re.sub('(?i)(^|;)\\s*alter\\s+((online|ignore)\\s+)*\\w+|\\balter\\s+index\\s+\\S+\\s+(in)?visible\\b',
            ';', text), modules.re.IGNORECASE
    ) is not none) %}
{% endmacro %}


{#- The columns that the statement renames: {old: new}, in lower case. -#}
{% macro _renamed_columns(command) %}
    {% set renamed = {} %}
    {% for old, new in dbt_cdc._column_renames(command) if old | lower != new | lower %}
        {% do renamed.update({old | lower: new | lower}) %}
    {% endfor %}
    {% do return(renamed) %}
{% endmacro %}


{#- Those that it gives another letter case: {name in lower case: new}. -#}
{% macro _respelled_columns(command) %}
    {% set respelled = {} %}
    {% for old, new in dbt_cdc._column_renames(command) if old | lower == new | lower %}
        {% do respelled.update({old | lower: new}) %}
    {% endfor %}
    {% do return(respelled) %}
{% endmacro %}


{% macro _column_renames(command) %}
    {% set name = dbt_cdc._identifier_pattern() %}
    {% set text = modules.re.sub(dbt_cdc._rename_pattern(), ';', dbt_cdc._without_literals(command)) %}
    {% set renames = [] %}
    {% for pattern in [
        '\\brename\\s+(?:column\\s+)?(?:if\\s+exists\\s+)?(' ~ name ~ ')\\s+to\\s+(' ~ name ~ ')',
        '\\bchange\\s+(?:column\\s+)?(?:if\\s+exists\\s+)?(' ~ name ~ ')\\s+(' ~ name ~ ')',
    ] %}
        {% for pair in modules.re.findall(pattern, text, modules.re.IGNORECASE) %}
            {% do renames.append((dbt_cdc._bare_identifier(pair[0]), dbt_cdc._bare_identifier(pair[1]))) %}
        {% endfor %}
    {% endfor %}
    {% for old, new, kind in dbt_cdc._sp_renames(command) if kind | lower == 'column' %}
        {% do renames.append((dbt_cdc._bare_identifier(old), new)) %}
    {% endfor %}
    {% do return(renames) %}
{% endmacro %}


{#- The (old name, new name, kind) of each sp_rename in the statement, which takes the new name as it is. A value is a
    text or a word; named ones come in any order. -#}
{% macro _sp_renames(command) %}
    {% set value = "(n?'[^']+'|" ~ dbt_cdc._quoted_pattern() ~ '|\\w+)' %}
    {% set argument = '(?:@\\w+\\s*=\\s*)?' ~ value.replace('(', '(?:', 1) %}
    {% set renames = [] %}
    {% for arguments in modules.re.findall(
        '(?i)\\bsp_rename\\]?\\s+(' ~ argument ~ '(?:\\s*,\\s*' ~ argument ~ '){1,2})', dbt_cdc._read_twice(command)
    ) %}
        {% set given = {} %}
        {% for name, text in modules.re.findall('(?i)(?:(@\\w+)\\s*=\\s*)?' ~ value, arguments) %}
            {% do given.update({name | lower or ['@objname', '@newname', '@objtype'][loop.index0]:
                modules.re.sub("(?i)^(n?'|[\"`\\[])|['\"`\\]]$", '', text)}) %}
        {% endfor %}
        {% set kind = given['@objtype'] or '' %}
        {% set kind = '' if kind | lower in ['null', 'default'] else kind %}
        {% do renames.append((given['@objname'], given['@newname'], kind))
            if given['@objname'] and given['@newname'] %}
    {% endfor %}
    {% do return(renames) %}
{% endmacro %}


{#- The name that the statement gives the table, as it spells it; none where it renames something else, as an
    index or a constraint. -#}
{% macro _new_name_of_table(command, table) %}
    {% for old, new in dbt_cdc._table_renames(command) if old | lower == table | lower %}
        {% do return(new) %}
    {% endfor %}
    {% do return(none) %}
{% endmacro %}


{#- The one that had another name before the statement, and has that of the table now. -#}
{% macro _old_name_of_table(command, table) %}
    {% for old, new in dbt_cdc._table_renames(command) if new | lower == table | lower != old | lower %}
        {% do return(old) %}
    {% endfor %}
    {% do return(none) %}
{% endmacro %}


{#- The statement that renames a table in Oracle and Db2. -#}
{% macro _rename_pattern() %}
    {% set name = dbt_cdc._identifier_pattern() %}
    {% do return('(?i)(?:^|;)\\s*rename\\s+(?:table\\s+)?(' ~ name ~ ')\\s+to\\s+(' ~ name ~ ')') %}
{% endmacro %}


{#- The (old name, new name) of each table that the statement renames. -#}
{% macro _table_renames(command) %}
    {% set name = dbt_cdc._identifier_pattern() %}
    {% set text = dbt_cdc._without_literals(command) %}
    {% set table = '\\balter\\s+(?:(?:online|ignore)\\s+)*table\\s+(?:if\\s+exists\\s+)?(?:only\\s+)?(' ~ name ~ ')' %}
    {% set renames = modules.re.findall(
        table ~ '[^;]*?\\brename(?:\\s+(?:to|as)\\s+|\\s*=\\s*)(' ~ name ~ ')', text, modules.re.IGNORECASE) %}
    {% do renames.extend(modules.re.findall(dbt_cdc._rename_pattern(), text)) %}
    {#- MySQL may leave TO out -#}
    {% do renames.extend(modules.re.findall(
        table ~ '(?:\\s+wait\\s+\\d+|\\s+nowait)?\\s+(?:[^;]*?,\\s*)?rename\\s+(' ~ name
        ~ ')(?=\\s*(?:[,;]|$))', dbt_cdc._without_literals(command, keeps_names=false), modules.re.IGNORECASE)) %}
    {% do renames.extend(modules.re.findall(
        '(' ~ name ~ ')(?:\\s+wait\\s+\\d+|\\s+nowait)?\\s+to\\s+(' ~ name ~ ')', text, modules.re.IGNORECASE))
        if modules.re.search('\\brename\\s+tables?\\b', text, modules.re.IGNORECASE) %}
    {% set bare = [] %}
    {% for old, new in renames %}
        {% do bare.append((dbt_cdc._bare_identifier(old), dbt_cdc._bare_identifier(new))) %}
    {% endfor %}
    {% for old, new, kind in dbt_cdc._sp_renames(command) if kind | lower in ['', 'object'] %}
        {% do bare.append((dbt_cdc._bare_identifier(old), new)) %}
    {% endfor %}
    {% do return(bare) %}
{% endmacro %}


{#- Whether the statement drops the primary key, by its keyword or a name that is one's, or the index of
    that name. -#}
{% macro _drops_key(command, index_name) %}
    {% for kind, name in modules.re.findall(
        '\\bdrop\\s+(primary|index|key|constraint)\\s+(?:concurrently\\s+)?(?:if\\s+exists\\s+)?('
        ~ dbt_cdc._identifier_pattern() ~ ')', dbt_cdc._without_literals(command), modules.re.IGNORECASE
    ) %}
        {% set dropped = dbt_cdc._bare_identifier(name) | lower %}
        {% if dropped == (index_name or '') | lower
            or kind | lower == 'primary' and dropped == 'key'
            or kind | lower in ['index', 'key'] and dropped == 'primary'
            or kind | lower == 'constraint' and modules.re.search('^(pk(_.*)?|.*_pk|.*_pkey\\d*|primary)$', dropped) %}
            {% do return(true) %}
        {% endif %}
    {% endfor %}
    {% do return(false) %}
{% endmacro %}
