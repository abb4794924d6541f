"""The seeds tell what the macros do."""

from __future__ import annotations

import csv
import re

from harness import PACKAGE

MACROS = "\n".join(p.read_text(encoding="utf-8") for p in (PACKAGE / "macros").rglob("*.sql"))
NUMBERS = r"\b(208|313|2714|49\d\d|14261|22[189]\d\d)\b"


def seed(name: str) -> list[dict[str, str]]:
    """The rows of a seed."""
    with (PACKAGE / "seeds" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_error_has_a_way_out() -> None:
    numbers = [row["error_number"] for row in seed("cdc_errors")]
    assert sorted(set(re.findall(NUMBERS, MACROS)), key=int) == numbers


def test_phases() -> None:
    (phases,) = re.findall(r"macro _phase_text\(.*?endmacro", MACROS, re.S)
    found = re.findall(r"(\d): '([^']*)'", phases)
    assert found == [(row["phase_number"], row["scan_phase"]) for row in seed("cdc_scan_phases")]


def test_operations() -> None:
    codes = set(re.findall(r"when (\d) then '([A-Z]+)'", MACROS))
    assert codes == {(row["operation"], row["code"]) for row in seed("cdc_operations")}


def test_seeds_hold_what_dbt_spark_carries_unharmed() -> None:
    """Quotes break its INSERT, and large numbers lose digits where they are no text."""
    for path in (PACKAGE / "seeds").glob("*.csv"):
        assert "'" not in path.read_text(encoding="utf-8"), path
