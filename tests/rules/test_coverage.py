"""docs/coverage.md and docs/correspondences.md name what exists, and all of it."""

from __future__ import annotations

import re

import yaml
from harness import PACKAGE

DOCS = PACKAGE / "docs"


def rows() -> list[list[str]]:
    """The cells of the page's tables: statement, where, shown by."""
    text = (DOCS / "coverage.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if row[0] != "statement"]


def anchors(page: str) -> set[str]:
    """What headings of a page can be linked by."""
    headings = re.findall(r"^#+ (.*)$", (DOCS / page).read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


def test_every_statement_has_a_place_and_a_test_or_a_reason() -> None:
    assert len(rows()) > 180
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


# What only this package's own models, hooks and unit tests call.
OWN = {
    "captured_model", "finish_scan", "log_tables", "publication", "raise_cdc_error", "scan",
    "scan_window", "state_table",
}  # fmt: skip


def test_the_table_of_correspondences_is_complete() -> None:
    """Each public macro, each model that is not internal; and nothing that is not there."""
    table = (DOCS / "correspondences.md").read_text(encoding="utf-8").lower()
    files = (PACKAGE / "macros").rglob("*.sql")
    sql = "\n".join(path.read_text(encoding="utf-8") for path in files).lower()
    metadata = (PACKAGE / "models" / "metadata" / "_metadata.yml").read_text(encoding="utf-8")
    names = {
        model["name"]
        for model in yaml.safe_load(metadata)["models"]
        if not model["description"].startswith("Internal.")
    }
    names |= set(re.findall(r"{%-? macro ([a-z]\w+)\(", sql)) - OWN
    assert not [name for name in names if not re.search(rf"(?<![a-z]){name}\b", table)]
    ours = "|".join(re.findall(r"^\| [^|]* \|([^|]*\|[^|]*)\|$", table, re.M))
    called = re.findall(r"`(\w+)\(", ours)
    assert len(called) > 40
    assert not [name for name in called if name not in sql]
