"""A folder of macros calls only folders above it, lines are short, a file has one public macro.
What breaks these rules today is listed in exceptions.yml, which may only get shorter."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
import yaml
from call_graph import Arrow, Graph, package_texts
from harness import PACKAGE

# The folders of macros/, top first. A folder may call itself and the floors above it. Folders on
# one floor do not call each other.
FLOORS = (
    ("core",),
    ("log",),
    ("declared",),
    ("images",),
    ("state",),
    ("query",),
    ("schema_changes",),
    ("capture",),
    ("change_tracking", "consumers"),
    ("materializations",),
    ("operations",),
)
# These are below all floors: they call macros, and no macro calls them.
GROUND = ("models", "tests/generic")

EXCEPTIONS = Path(__file__).with_name("exceptions.yml")
# The length of each list of exceptions, and the files of the largest circle. Only lower them.
BOUNDS = {"calls": 0, "long_lines": 10, "public_macros": 0}
LARGEST_CIRCLE = 1


@cache
def texts() -> dict[str, str]:
    """The SQL files of this package."""
    return package_texts(PACKAGE)


@cache
def graph() -> Graph:
    """The calls of this package."""
    return Graph.of(texts())


def floor(folder: str) -> int:
    """The number of a folder's floor; the top is 0."""
    for number, folders in enumerate((*FLOORS, GROUND)):
        if folder in folders:
            return number
    raise AssertionError(f"{folder} has no floor: add it to FLOORS, below each folder it calls")


def is_against_the_order(arrow: Arrow) -> bool:
    """Whether a macro calls another folder that is not above its own."""
    caller, callee = arrow.caller.folder, arrow.callee.folder
    return caller != callee and floor(callee) >= floor(caller)


def calls_against_the_order(graph: Graph) -> list[str]:
    """As the list of exceptions has them: each macro once for each file that calls it."""
    return sorted({arrow.key for arrow in graph.arrows if is_against_the_order(arrow)})


def long_lines(texts: dict[str, str]) -> Counter[str]:
    """How many lines of a file are too long."""
    counts = {}
    for file, text in texts.items():
        limit = 120 if file.startswith("macros/") else 100
        counts[file] = sum(len(line) > limit for line in text.splitlines())
    return +Counter(counts)


def public_macros(graph: Graph) -> Counter[str]:
    """How many public macros a file has, if there are several."""
    counts = Counter(macro.file for macro in graph.macros if macro.is_public)
    return Counter({file: count for file, count in counts.items() if count > 1})


def differences(found: Counter[str], listed: Counter[str], bound: int, way_out: str) -> list[str]:
    """What to do where a rule is broken in other places than those listed."""
    lines = [f"{key}: {way_out}" for key in sorted(found - listed)]
    for key in sorted(listed - found):
        left = f"list {found[key]}" if found[key] else "take it off the list"
        lines.append(f"{key}: {listed[key]} listed, {found[key]} found: {left}")
    total = sum(listed.values())
    if total > bound:
        lines.append(f"{total} listed, {bound} allowed: shorten the list")
    if total < bound:
        lines.append(f"{total} listed, {bound} allowed: set the bound to {total}")
    return lines


def check(rule: str, found: Counter[str], way_out: str) -> None:
    """A rule is broken where exceptions.yml says so, and nowhere else."""
    listed = yaml.safe_load(EXCEPTIONS.read_text(encoding="utf-8"))[rule]
    assert list(listed) == sorted(listed), f"sort {rule} in {EXCEPTIONS.name}"
    lines = differences(found, Counter(listed), BOUNDS[rule], way_out)
    assert not lines, "\n".join([f"{rule} in {EXCEPTIONS.name}:", *lines])


def test_every_folder_has_a_floor() -> None:
    folders = {macro.folder for macro in graph().macros}
    for folder in folders:
        floor(folder)
    gone = {folder for named in FLOORS for folder in named} - folders
    assert not gone, f"take these folders out of FLOORS: {gone}"


def test_every_call_means_a_macro() -> None:
    assert not graph().lost, "\n".join(map(str, graph().lost))


def test_a_folder_calls_only_folders_above_it() -> None:
    way_out = "move the called macro above the caller's folder, or the caller below it"
    check("calls", Counter(calls_against_the_order(graph())), way_out)


def test_lines_are_short() -> None:
    check("long_lines", long_lines(texts()), "break lines over 120 columns, 100 outside of macros/")


def test_a_file_has_one_public_macro() -> None:
    check("public_macros", public_macros(graph()), "give each public macro a file of its own")


def test_writes_of_state_wait_for_their_turn() -> None:
    """Where another process writes the same table, Delta refuses one of both: `_in_turn`."""
    bare = re.compile(r"run_query\(\s*'(?:delete from|insert|update|merge)\b")
    assert not [path for path, text in texts().items() if bare.search(text)]


def test_the_largest_circle_does_not_grow() -> None:
    circle = graph().circle()
    way_out = "find the new call that closes it, and move what it needs to a file that calls less"
    assert len(circle) <= LARGEST_CIRCLE, f"{len(circle)} files: {way_out}\n{sorted(circle)}"


# The reader and the rules, on made-up macros.


def calls(body: str, *others: str) -> list[str]:
    """The names that a macro of this body calls; `others` are defined, too."""
    names = ("_one", "_two", "_red_rows", "_blue_rows", "shown", *others)
    macros = "".join(f"{{% macro {name}() %}}{{% endmacro %}}" for name in names)
    text = f"{{% macro caller() %}}{body}{{% endmacro %}}"
    read = Graph.of({"macros/log/a.sql": text, "macros/log/b.sql": macros})
    return [arrow.callee.name for arrow in read.arrows] + [lost.text for lost in read.lost]


@pytest.mark.parametrize(
    "body",
    [
        "select {{ dbt_cdc._one() }}",
        "select {{- dbt_cdc._one(1) | lower -}}",
        "{%- do return('insert ' ~ dbt_cdc._one('a') ~ ' values') -%}",
        "{% set a = [{'b': dbt_cdc._one}] %}",
        "{% do dbt_cdc\n    ._one(\n        1) %}",
        "{% call(row) dbt_cdc._one() %}{% endcall %}",
        "{% do _one(1) %}",
        "{% do dbt_cdc['_one'](1) %}",
        "{% do dbt_cdc['_' ~ given[0] ~ 'ne'](1) %}",
        "{{ config(pre_hook='{{ dbt_cdc._one() }}') }}",
    ],
)
def test_this_is_a_call(body: str) -> None:
    assert calls(body) == ["_one"]


@pytest.mark.parametrize(
    "body",
    [
        "{#- as {{ dbt_cdc._one() }} does; {% do dbt_cdc._one() %} -#}",
        "{% raw %}{{ dbt_cdc._one() }}{% endraw %}",
        "dbt_cdc._one() as one",
        "{% do log('see dbt_cdc._one()') %}",
        "{% do log('write {{ dbt_cdc.shown() }}') %}",
        "{% set _one = 1 %}{{ _one }}{{ row._one() }}{{ 1 | _one() }}",
    ],
)
def test_this_is_no_call(body: str) -> None:
    assert calls(body) == []


def test_a_composed_name_means_all_macros_that_fit() -> None:
    body = "{% do dbt_cdc['_' ~ kind ~ '_rows'](1) %}"
    assert calls(body) == ["_red_rows", "_blue_rows"]
    # A macro that is called by its full name is not what a composed name is for.
    assert calls("{% do dbt_cdc._red_rows() %}" + body) == ["_red_rows", "_blue_rows"]
    assert calls("{% do dbt_cdc['_' ~ (kind | replace('a', 'b')) ~ '_rows'](1) %}", "_rows") == [
        "_red_rows",
        "_blue_rows",
    ]


def test_a_call_of_nothing_is_told() -> None:
    assert calls("{% do dbt_cdc._three() %}") == ["_three"]
    assert calls("{% do dbt_cdc[name]() %}") == ["dbt_cdc[name]"]
    assert calls("{% do dbt_cdc['_' ~ a ~ '_columns']() %}") == ["dbt_cdc['_' ~ a ~ '_columns']"]


def test_the_reader_finds_definitions() -> None:
    text = """
        {%- macro _first(a=dbt_cdc._second()) -%}{%- endmacro -%}
        {%+ macro second(
            a, b) %}{% endmacro %}
        {% materialization third, adapter='spark' %}{{ dbt_cdc.second() }}{% endmaterialization %}
        {# {% macro fourth() %}{% endmacro %} #}
        {% test fifth(model) %}{% endtest %}
        {% macro _second() %}{{ dbt_cdc.test_fifth(1) }}{% endmacro %}
        {{ dbt_cdc.second() }}
    """
    read = Graph.of({"macros/log/debezium/a.sql": text})
    names = ["_first", "second", "materialization_third", "test_fifth", "_second"]
    assert [macro.name for macro in read.macros] == names
    assert [macro.name for macro in read.macros if macro.is_public] == ["second"]
    assert {macro.folder for macro in read.macros} == {"log"}
    assert [
        (arrow.caller.name, arrow.callee.name, arrow.mention.line) for arrow in read.arrows
    ] == [
        ("_first", "_second", 2),
        ("materialization_third", "second", 5),
        ("_second", "test_fifth", 8),
        ("a", "second", 9),
    ]


def folders_calling(*files: str) -> Graph:
    """A macro in each of these files, which calls those in all of them."""
    names = [f"_{number}" for number in range(len(files))]
    body = "".join(f"{{{{ dbt_cdc.{name}() }}}}" for name in names)
    return Graph.of(
        {
            file: f"{{% macro {name}() %}}{body}{{% endmacro %}}"
            for file, name in zip(files, names, strict=True)
        }
    )


def test_a_call_against_the_order_is_found() -> None:
    read = folders_calling("macros/core/a.sql", "macros/query/a.sql", "macros/query/b.sql")
    assert calls_against_the_order(read) == [
        "core/a.sql _1 -> query",
        "core/a.sql _2 -> query",
    ]
    read = folders_calling("macros/consumers/a.sql", "macros/change_tracking/a.sql")
    assert calls_against_the_order(read) == [
        "change_tracking/a.sql _0 -> consumers",
        "consumers/a.sql _1 -> change_tracking",
    ]
    read = folders_calling("models/metadata/a.sql", "macros/operations/a.sql")
    assert calls_against_the_order(read) == ["operations/a.sql _0 -> models"]
    with pytest.raises(AssertionError, match="attic has no floor: add it to FLOORS"):
        calls_against_the_order(folders_calling("macros/attic/a.sql", "macros/log/a.sql"))


def test_a_circle_is_found() -> None:
    def read(*arrows: tuple[str, str]) -> Graph:
        macro = "{{% macro _{}() %}}{{{{ dbt_cdc._{}() }}}}{{% endmacro %}}"
        last = {"macros/log/z.sql": "{% macro _z() %}{% endmacro %}"}
        return Graph.of(last | {f"macros/log/{a}.sql": macro.format(a, b) for a, b in arrows})

    assert len(read(("a", "b"), ("b", "c"), ("c", "z")).circle()) == 1
    circle = read(("a", "b"), ("b", "c"), ("c", "b"), ("d", "z")).circle()
    assert circle == {"macros/log/b.sql", "macros/log/c.sql"}
    assert not Graph.of({}).circle()


def test_long_lines_and_public_macros_are_counted() -> None:
    files = {"macros/log/a.sql": f"{'ä' * 120}\n{'a' * 121}\n", "models/a.sql": f"{'a' * 101}\n\n"}
    assert long_lines(files) == {"macros/log/a.sql": 1, "models/a.sql": 1}
    text = "".join(f"{{% macro {name}() %}}{{% endmacro %}}" for name in ("a", "b", "_c"))
    assert public_macros(Graph.of({"macros/log/a.sql": text})) == {"macros/log/a.sql": 2}
    assert not public_macros(Graph.of({"macros/log/a.sql": text.replace(" b(", " _b(")}))


def test_a_list_of_exceptions_only_gets_shorter() -> None:
    listed = Counter({"a.sql": 2, "b.sql": 1})
    assert not differences(listed, listed, 3, "mend it")
    assert differences(listed + Counter(["c.sql"]), listed, 3, "mend it") == ["c.sql: mend it"]
    assert differences(listed + Counter(["a.sql"]), listed, 3, "mend it") == ["a.sql: mend it"]
    assert differences(listed - Counter(["b.sql"]), listed, 3, "mend it") == [
        "b.sql: 1 listed, 0 found: take it off the list"
    ]
    assert differences(listed - Counter(["a.sql"]), listed, 3, "mend it") == [
        "a.sql: 2 listed, 1 found: list 1"
    ]
    assert differences(listed, listed, 2, "mend it") == ["3 listed, 2 allowed: shorten the list"]
    assert differences(listed, listed, 4, "") == ["3 listed, 4 allowed: set the bound to 3"]
