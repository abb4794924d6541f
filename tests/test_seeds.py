"""The seeds tell what the macros do; errors: tests/rules/test_errors.py."""

from __future__ import annotations

import csv
import re

from harness import PACKAGE

MACROS = "\n".join(p.read_text(encoding="utf-8") for p in (PACKAGE / "macros").rglob("*.sql"))


def seed(name: str) -> list[dict[str, str]]:
    """The rows of a seed."""
    with (PACKAGE / "seeds" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_each_row_has_a_key() -> None:
    for name, key in (
        ("cdc_errors", "error_number"),
        ("cdc_operations", "operation"),
        ("cdc_scan_phases", "phase_number"),
    ):
        keys = [row[key] for row in seed(name)]
        assert all(keys) and len(keys) == len(set(keys)), name


def test_phases() -> None:
    (phases,) = re.findall(r"macro _phase_text\(.*?endmacro", MACROS, re.S)
    found = re.findall(r"(\d): '([^']*)'", phases)
    assert found == [(row["phase_number"], row["scan_phase"]) for row in seed("cdc_scan_phases")]


def test_operations() -> None:
    codes = set(re.findall(r"\b(\d): '([A-Z]+)'", MACROS))
    assert codes == {(row["operation"], row["code"]) for row in seed("cdc_operations")}


def test_seeds_hold_what_dbt_spark_carries_unharmed() -> None:
    """Quotes break its INSERT, and large numbers lose digits where they are no text."""
    for path in (PACKAGE / "seeds").glob("*.csv"):
        assert "'" not in path.read_text(encoding="utf-8"), path
