"""docs/shapes.md: the dictionaries that macros hand to each other, the keys of the cache."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache

from call_graph import package_texts
from harness import PACKAGE

METHODS = {"clear", "get", "items", "keys", "pop", "setdefault", "update", "values"}
CACHE = r"(?:dbt_cdc\._invocation_cache\(\)|\bcache\b)"


@cache
def macros() -> dict[str, str]:
    """The texts of all macros, by name."""
    files = "\n".join(package_texts(PACKAGE).values())
    return dict(re.findall(r"{%-? macro (\w+)(\(.*?){%-? endmacro", files, re.S))


def rows(heading: str = "") -> list[list[str]]:
    """The cells of the page's tables, or of the one below a heading."""
    text = (PACKAGE / "docs" / "shapes.md").read_text(encoding="utf-8")
    text = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0] if heading else text
    lines = re.findall(r"^\| (?!keys? \|)(.*) \|$", text, re.M)
    return [[cell.strip() for cell in line.split(" | ")] for line in lines]


def named(cell: str) -> list[str]:
    """What a cell has in backticks."""
    return re.findall(r"`([^`]+)`", cell)


def used_keys() -> dict[str, set[str]]:
    """The keys of the cache, each with the macros that name it."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, text in macros().items():
        if "_invocation_cache()" not in text and name != "_invocation_cache":
            continue
        keys = re.findall(rf"{CACHE}\.(?:get|setdefault|pop)\('([^']+)'", text)
        keys += re.findall(rf"{CACHE}\.update\((\w+)=", text)
        keys += re.findall(rf"'([^']+)' (?:not )?in {CACHE}", text)
        keys += set(re.findall(rf"{CACHE}\.(\w+)", text)) - METHODS
        for key in re.findall(rf"{CACHE}\[(\w+)\]", text):
            start = re.search(rf"set {key} = '([^']+)' ~", text)
            assert start, f"{name}: begin the key `{key}` of the cache with a text"
            keys.append(start[1] + "<lsn>")
        for key in keys:
            found[key].add(name)
    return found


def test_each_row_names_macros_that_are_there() -> None:
    for row in rows():
        for name in named(" ".join(row[2:])):
            assert name in macros(), f"{name} is no macro: {row}"


def test_each_key_is_made_by_the_macros_that_its_row_names() -> None:
    for keys, meaning, *makers in rows():
        if len(makers) == 1:
            text = "\n".join(macros()[name] for name in named(makers[0]))
            for key in named(keys):
                assert re.search(rf"\b{key}\b", text), f"{key}, {meaning}: not in {makers[0]}"


def test_the_keys_of_the_cache_are_on_the_page_and_no_others() -> None:
    told = {key: row for row in rows("The invocation cache") for key in named(row[0])}
    used = used_keys()
    assert len(used) > 15
    assert told.keys() == used.keys()
    for key, row in told.items():
        unsaid = used[key] - set(named(" ".join(row[2:])))
        assert not unsaid, f"{key}: name {unsaid} on the page"
