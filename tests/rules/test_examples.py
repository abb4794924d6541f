"""scripts/examples.yml has each macro, run-operation, materialization, data test and
table, or says why not; scripts/settings.yml has each setting and variable."""

from __future__ import annotations

import re

import yaml
from harness import PACKAGE


def test_every_entry_of_the_reference_has_an_example_or_a_reason() -> None:
    examples = yaml.safe_load((PACKAGE / "scripts" / "examples.yml").read_text(encoding="utf-8"))
    index = (PACKAGE / "docs" / "reference.md").read_text(encoding="utf-8")
    files = re.findall(r"^## \[.*\]\((.*)\)$", index, re.M)
    pages = [(PACKAGE / "docs" / name).read_text(encoding="utf-8") for name in files]
    entries = re.findall(r"^## (\w+)$", "\n".join(pages), re.M)
    assert list(examples) == entries == re.findall(r"^\* \[(\w+)\]", index, re.M)
    for name, example in examples.items():
        assert set(example) == {"instead"} or {"call", "result"} <= set(example), name
        if "call" in example and "model" not in example:
            assert name in example["call"], name
    reasons = [name for name, example in examples.items() if "instead" in example]
    # adapters of sources that the shop has not: each has a page, whose model a test runs
    assert reasons == ["wal2json_log", "change_table_log", "dms_log", "unflattened_events"]


def test_every_setting_and_variable_has_an_example() -> None:
    """A given one that is no story of another page is told by test_settings.py."""
    settings = yaml.safe_load((PACKAGE / "scripts" / "settings.yml").read_text(encoding="utf-8"))
    page = (PACKAGE / "docs" / "settings.md").read_text(encoding="utf-8")
    assert list(settings) == re.findall(r"^### (\w+)$", page, re.M)
    for name, example in settings.items():
        assert example["call"] and example["result"], name
        if name.startswith("cdc_"):
            assert name in example["call"], name
