"""docs/coverage.md and docs/correspondences.md name what exists, and all of it; docs/cases.md
names tests that exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import yaml
from harness import PACKAGE
from shop import Shop

DOCS = PACKAGE / "docs"


def rows(document: str = "") -> list[list[str]]:
    """The cells of the page's tables, or of that of one document: statement, where, shown by."""
    text = (DOCS / "coverage.md").read_text(encoding="utf-8")
    text = text.partition(f"\n## {document}")[2].partition("\n## ")[0] if document else text
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if row[0] != "statement"]


def anchors(page: str) -> set[str]:
    """What headings of a page can be linked by."""
    headings = re.findall(r"^#+ (.*)$", (DOCS / page).read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


# The statements of each document.
STATEMENTS = {
    "The cleanup job": 19, "About change data capture": 76, "Change Data Capture: we": 34,
    "Change data capture in SQL Server 2008": 22, "Change Tracking Cleanup": 22, "Beyond": 28,
}  # fmt: skip


def test_every_statement_has_a_place_and_a_test_or_a_reason() -> None:
    assert {document: len(rows(document)) for document in STATEMENTS} == STATEMENTS
    assert len(rows()) == sum(STATEMENTS.values())
    for row in rows():
        assert len(row) == 3, row
        _, where, shown = row
        assert "::" in shown or "](differences.md#" in shown, row
        assert where or "](differences.md#" in shown, row


def test_files_tests_and_reasons_exist() -> None:
    for statement, where, shown in rows():
        for path in re.findall(r"`([^`]+)`", where):
            assert (PACKAGE / path).is_file(), (statement, path)
        for file, test in re.findall(r"`([^`]+)::(\w+)`", shown):
            folder = PACKAGE / "tests" / ("" if "/" in file else "scenarios")
            assert f"\ndef {test}(" in (folder / file).read_text(encoding="utf-8"), statement
        for page, anchor in re.findall(r"\]\((\w+\.md)#([^)]+)\)", shown):
            assert anchor in anchors(page), (statement, anchor)


@cache
def parsed(file: Path) -> ast.Module:
    """The module of a file."""
    return ast.parse(file.read_text(encoding="utf-8"))


def marks_of(file: Path, test: str) -> str:
    """The marks of a test and of its module."""
    module = parsed(file)
    marks = [
        node.value
        for node in module.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    ]
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and node.name == test:
            marks += node.decorator_list
    return " ".join(ast.unparse(mark) for mark in marks if "parametrize" not in ast.unparse(mark))


def is_soak(file: Path, test: str) -> bool:
    """Whether a test is left out of `make test` and `make test-all`."""
    return "pytest.mark.soak" in marks_of(file, test)


def test_each_promise_is_shown_by_make_test() -> None:
    """Each row of tests/README.md names a file with a test that `make test` runs."""
    tests = PACKAGE / "tests"
    table = (tests / "README.md").read_text(encoding="utf-8").partition("| promise of README")[2]
    promises = [line for line in table.splitlines()[2:] if line.startswith("| ")]
    assert len(promises) > 30
    for promise in promises:
        shown = []
        kept = re.split(r"\b(?:more|soak): ", promise)[0]
        for name, test in re.findall(r"\b(test_\w+)(?:[.]py)?(?:[.](test_\w+))?", kept):
            for file in tests.rglob(f"{name}.py"):
                assert not test or "mark.more" not in marks_of(file, test), (name, test)
                names = re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), re.M)
                marks = [marks_of(file, test) for test in names]
                shown += [m for m in marks if "mark.soak" not in m and "mark.more" not in m]
        assert shown or "`make lint`" in promise, promise


def test_what_only_a_soak_shows_is_marked() -> None:
    for statement, _, shown in rows():
        for file, test, mark in re.findall(r"`([^`]+)::(\w+)`( \(soak\))?", shown):
            folder = PACKAGE / "tests" / ("" if "/" in file else "scenarios")
            assert bool(mark) == is_soak(folder / file, test), (statement, test)


def test_each_case_names_tests_that_make_test_runs() -> None:
    """Those of docs/cases.md, which lists each case with a link to it."""
    text = (DOCS / "cases.md").read_text(encoding="utf-8")
    cases = re.split(r"^## (.*)\n", text, flags=re.M)[1:]
    assert re.findall(r"^\| \[(.*?)\]\(#", text, re.M) == cases[::2]
    for case, told in zip(cases[::2], cases[1::2], strict=True):
        named = re.findall(r"`(test_\w+\.py)::(\w+)`", told.partition("\n| tests |")[2])
        assert named and "](https://github.com/" in told.partition("\n| here |")[0], case
        left_out = []
        for file, test in named:
            path = PACKAGE / "tests" / "scenarios" / file
            assert f"\ndef {test}(" in path.read_text(encoding="utf-8"), (case, test)
            assert not is_soak(path, test), (case, test)
            left_out.append("pytest.mark.more" in marks_of(path, test))
        assert not all(left_out), case


def test_errors_are_raised_or_said_to_differ() -> None:
    """Each number of the page is in the code, or where it says why it is not."""
    paths = [path for folder in ("macros", "seeds") for path in (PACKAGE / folder).rglob("*.*")]
    paths.append(DOCS / "differences.md")
    known = " ".join(path.read_text(encoding="utf-8") for path in paths)
    told = re.findall(r"\b\d{5}\b", " ".join(row[0] for row in rows()))
    assert len(told) > 20
    assert not [number for number in told if not re.search(rf"\b{number}\b", known)]


# What only this package's own models, hooks and unit tests call.
OWN = {
    "captured_model", "finish_scan", "log_tables", "publication", "raise_cdc_error", "scan",
    "scan_window", "state_table",
}  # fmt: skip


def names_of(cells: tuple[str, str, str]) -> set[str]:
    """What a line of the table of correspondences names of ours."""
    text = cells[1] + cells[2]
    if re.search(r"(these|the same) names", text):
        text += cells[0]
    found = (
        re.fullmatch(r"(?:sys\.|cdc\.)?(?:sp_(?:cdc_)?)?(\w+)(\(.*\))?", name)
        for name in re.findall(r"`([^`]+)`", text)
    )
    return {match[1].lower() for match in found if match}


def test_the_table_of_correspondences_is_complete() -> None:
    """Each public macro, each model that is not internal; and nothing that is not there."""
    table = (DOCS / "correspondences.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| ([^|]*) \|([^|]*)\|([^|]*)\|$", table, re.M)
    told = set().union(*map(names_of, lines))
    files = (PACKAGE / "macros").rglob("*.sql")
    sql = "\n".join(path.read_text(encoding="utf-8") for path in files)
    metadata = (PACKAGE / "models" / "metadata" / "_metadata.yml").read_text(encoding="utf-8")
    models = {m["name"]: m["description"] for m in yaml.safe_load(metadata)["models"]}
    macros = set(re.findall(r"{%-? macro ([a-z]\w+)\(", sql))
    shown = {name for name, text in models.items() if not text.startswith("Internal.")}
    assert not (macros - OWN | shown) - told
    known = macros | models.keys() | set(re.findall(r"materialization (\w+),", sql))
    assert not {name for name in told - known if not name.startswith(("fn_cdc_", "sp_"))}


def test_the_persistent_functions_are_in_it_and_no_others(shop: Shop) -> None:
    table = (DOCS / "correspondences.md").read_text(encoding="utf-8").lower()
    cells = "".join(re.findall(r"^\|[^|]*\|[^|]*\|([^|]*)\|$", table, re.M))
    named = set(re.findall(r"`([\w<>]+)\(", cells))
    made = shop.operation("persistent_functions", instance="dbo_items", table="dbo.items")
    assert made.success, made.output
    names = set(re.sub(r"(table_\w+?_)dbo_items", r"\1<schema>_<table>", made.printed).split())
    assert {name.replace("dbo_items", "<ci>") for name in names} == named
