{#- What becomes of captured columns once their instance cannot follow: until the window ends they may be renamed, and
    more than once, also in a table that was renamed itself. -#}

{#- Adds to the problem `renames`, of each {lsn, place, old, new, is_taken, is_ambiguous}: the columns are `new` where
    the window ends, and what is before the record at `place`, of the commit at `lsn`, has them as `old`. Where another
    column has that name in the end, it `is_taken`; `is_ambiguous` if images with the old names may look like those
    with the new ones. `renamed` is {old: new} of all, in lower case. -#}
{% macro _follow_renames(plan, instance, changes) %}
    {% set problem, now, renames, renamed = plan.problem, {}, [], {} %}
    {% set names_before, names_after = [], [] %}
    {% for name in plan.columns %}
        {% do now.update({name: name}) %}
    {% endfor %}
    {% for change in changes if change.operation == 'DDL' and change.source_schema == instance.source_schema
        and (change.source_name | lower == problem.new_name | lower or change.lsn == problem.place
            and change.source_name == instance.source_name
            if problem.new_name else change.source_name == instance.source_name)
        and (change.commit_lsn, change.lsn) >= (problem.lsn, problem.place) %}
        {#- another table may have the old name behind the rename -#}
        {% set given = dbt_cdc._renames_by(change, now.values() | list) %}
        {% do names_before.extend(dbt_cdc._renamed_columns(change.ddl_command)) %}
        {% do names_after.append(change.columns | map(attribute='name') | map('lower') | list) if change.columns %}
        {% for name, old in now.items() if old in given %}
            {% do renames.append({'name': name, 'lsn': change.commit_lsn, 'place': change.lsn, 'old': old}) %}
            {% do now.update({name: given[old]}) %}
        {% endfor %}
    {% endfor %}
    {% for rename in renames %}
        {% set old, new = rename.old | lower, now[rename.name] | lower %}
        {% set is_taken = old != new and names_after != [] and old in names_after[-1] %}
        {% do rename.update(
            new=now[rename.name], is_taken=is_taken,
            is_ambiguous=is_taken and (new in names_before or instance.before_image == 'partial')) %}
        {% do renamed.update({rename.name | lower: rename.new | lower}) %}
    {% endfor %}
    {#- one that got its old name back -#}
    {% set others = [] %}
    {% for rename in renames if rename.old != rename.new %}
        {% do others.append(rename) %}
    {% endfor %}
    {% do problem.update(renames=others, renamed=dict(problem.renamed or {}, **renamed)) if renames %}
{% endmacro %}


{#- Of these names the ones that the record's statement renames: {old: new}, as they are spelled. A name that the record
    lists all the same is another column's now. -#}
{% macro _renames_by(change, names) %}
    {% set listed, found = (change.columns or []) | map(attribute='name') | list, {} %}
    {% set spelling = dict(zip(listed | map('lower'), listed)) %}
    {% set own = dbt_cdc._renamed_columns(dbt_cdc._statements_of(change.ddl_command, change.source_name)) %}
    {% set all = dbt_cdc._renamed_columns(change.ddl_command) if listed else own %}
    {% set respelled = spelling if dbt_cdc._makes_table(change.ddl_command)
        else dbt_cdc._respelled_columns(change.ddl_command) %}
    {% for name in names %}
        {% set given, steps = own if name | lower in spelling else all, [name | lower] %}
        {#- of a text of several statements one may rename what another one has renamed -#}
        {% for _ in given %}
            {% do steps.append(given[steps[-1]])
                if steps[-1] in given and (steps | length == 1 or steps[-1] not in spelling) %}
        {% endfor %}
        {% if steps | length > 1 and (name | lower not in spelling or steps[-1] in spelling) %}
            {% do found.update({name: spelling.get(steps[-1], steps[-1])}) %}
        {% elif name not in listed and name | lower in spelling and name | lower in respelled %}
            {% do found.update({name: spelling[name | lower]}) %}
        {% endif %}
    {% endfor %}
    {% do return(found) %}
{% endmacro %}
