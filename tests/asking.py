"""Asking the macros, as a user's model would: their values, and the rows of their relations."""

from __future__ import annotations

import json
from typing import Any

from capturing import Capture
from pyspark.sql import Row

PREFIX = "asked_"


def compiled(capture: Capture, texts: list[str]) -> list[str]:
    """What analyses of these texts compile to, in one dbt command."""
    folder = capture.project.folder / "analyses"
    for file in folder.glob(f"{PREFIX}*.sql"):
        file.unlink()
    for number, text in enumerate(texts):
        capture.project.write(f"analyses/{PREFIX}{number}.sql", text)
    capture.project.ok("compile", "--select", *(f"{PREFIX}{n}" for n in range(len(texts))))
    found = capture.project.folder / "target" / "compiled" / "shop" / "analyses"
    return [
        (found / f"{PREFIX}{number}.sql").read_text(encoding="utf-8")
        for number in range(len(texts))
    ]


def values(capture: Capture, calls: list[str]) -> list[Any]:
    """What macros return that give values: `values(capture, ["get_max_lsn()"])`."""
    text = "\n".join(f"{{{{ tojson(dbt_cdc.{call}) }}}}" for call in calls)
    return [json.loads(line) for line in compiled(capture, [text])[0].strip().split("\n")]


def rows(capture: Capture, calls: list[str]) -> list[list[Row]]:
    """The rows of relations: `rows(capture, ["get_all_changes('dbo_orders', '0x..', '0x..')"])`."""
    texts = compiled(capture, [f"select * from {{{{ dbt_cdc.{call} }}}}" for call in calls])
    return [capture.sql(text) for text in texts]
