"""A replication task of AWS DMS or Qlik Replicate: what it writes for a table, of a database.

What it knows is how the engine behaves (the manuals' pages on change tables and on headers):

* Transactions are written whole, in the order of their commits. Each change has a change_seq: 16
  digits of a time, usually the commit's, which never goes back, and a number that only rises.
* An update has two rows, if before images are stored: 'B' and 'U' with one change_seq. An update
  that changes nothing has none.
* A full load has no change_seq. Its rows are those of the table when the task began.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from .source import EPOCH, Database, Transaction

# the columns of all tables, behind the headers
LANDED = "id int, text string, n double"
QLIK = {
    "header__change_seq": "string",
    "header__change_oper": "string",
    "header__transaction_id": "string",
}
DMS = {"Op": "string", "AR_H_CHANGE_SEQ": "string"}
LETTERS = {"c": "I", "u": "U", "d": "D", "t": "T"}
Landed = tuple[str, tuple[Any, ...]]


def time_digits(hundredths: int) -> str:
    """Hundredths of a second since 1970 -> YYYYMMDDHHmmSShh."""
    seconds, rest = divmod(hundredths, 100)
    time = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=seconds)
    return f"{time:%Y%m%d%H%M%S}{rest:02}"


@dataclass
class Task:
    """`pace`: microseconds of the database's clock for one of the task's; `jitter`: in how many of
    ten transactions the time goes on between two changes."""

    database: Database
    seed: int = 0
    is_qlik: bool = True
    pace: int = 1
    jitter: int = 2

    def __post_init__(self) -> None:
        self.number = 0
        self.time = 0

    def _row(self, letter: str, xid: int, row: dict[str, Any] | None) -> tuple[Any, ...]:
        seq = time_digits(self.time) + f"{self.number:019}"
        values = tuple((row or {}).get(name) for name in ("id", "text", "n"))
        headers = (seq, letter, f"{xid:032X}") if self.is_qlik else (letter, seq)
        return (*headers, *values)

    def full_load(self, table: str, rows: list[dict[str, Any]]) -> list[Landed]:
        """The rows of a table, as its LOAD files have them."""
        return [(table, ("I", None, row["id"], row["text"], row["n"])) for row in rows]

    def rows(self, transaction: Transaction) -> list[Landed]:
        """(table, row) for each row that the transaction leaves in the landed tables."""
        rng, written = random.Random(f"{self.seed} {transaction.xid}"), []
        passed = (transaction.micros - EPOCH) // self.pace
        self.time = max(self.time, (EPOCH + passed) // 10_000)
        goes_on = rng.randrange(10) < self.jitter
        for change in transaction.changes:
            if change.op == "u" and change.before == change.after:
                continue
            self.number += 1
            if goes_on and rng.random() < 0.5:
                self.time += 1
            if change.op == "u" and self.is_qlik:
                row = self._row("B", transaction.xid, change.before)
                written.append((change.table, row))
            image = change.before if change.op == "d" else change.after
            row = self._row(LETTERS[change.op], transaction.xid, image)
            written.append((change.table, row))
        return written
