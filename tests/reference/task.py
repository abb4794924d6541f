"""A replication task of AWS DMS or Qlik Replicate: what it writes for a table, of a database.

What it knows is how the engine behaves (the manuals' pages on change tables and on headers):

* Transactions are written whole, in the order of their commits. Each change has a change_seq: 16
  digits of a time, usually the commit's, which never goes back, and a number that only rises.
* An update has two rows, if before images are stored: 'B' and 'U' with one change_seq. An update
  that changes nothing has none.
* A full load has no change_seq. Its rows are those of the table when the task began.
* A stream has one message for each change, with the row before an update, as far as the settings
  and the source tell it. Qlik Replicate writes all values as texts, and the table's name in the
  topic; AWS DMS writes it in the message, and the change_seq where a rule adds it to the row.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
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
        headers = (None, "I", None) if self.is_qlik else ("I", None)
        return [(table, (*headers, row["id"], row["text"], row["n"])) for row in rows]

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


# --- streams ----------------------------------------------------------------------------------

VERBS = {"I": "insert", "U": "update", "D": "delete"}
Message = tuple[str | None, str | None]


def texts(row: dict[str, Any]) -> dict[str, str | None]:
    """A row as Qlik Replicate writes it in JSON."""
    return {name: None if value is None else str(value) for name, value in row.items()}


def messages(rows: Iterable[Landed], engine: str, images: str = "all") -> list[Message]:
    """(topic, value) of what the task of `engine`, qlik or dms, sends for rows of Qlik's tables;
    `images`: what it sends of rows before updates, all, key or none."""
    sent: list[Message] = []
    before = None
    for table, (seq, letter, xid, *values) in rows:
        row = dict(zip(("id", "text", "n"), values, strict=True))
        if letter == "B":
            before = {"all": row, "key": {"id": row["id"]}, "none": None}[images]
            continue
        if engine == "qlik":
            verb = VERBS[letter].upper() if seq else "REFRESH"
            sent.append((table, qlik_message(verb, seq, xid, row, before)))
        else:
            verb = VERBS[letter] if seq else "load"
            sent.append(("shop", dms_message(verb, seq, table, xid, row, before)))
        before = None
    return sent


def qlik_message(
    verb: str, seq: str | None, xid: str, row: dict[str, Any], before: dict[str, Any] | None = None
) -> str:
    headers = {
        "operation": verb,
        "changeSequence": seq or "",
        "timestamp": "2026-07-01T12:00:00.000",
        "streamPosition": "00000000.00bb2531.00000001.0000.02.0000:154.6963.16",
        "transactionId": xid or "",
        "changeMask": "02",
        "columnMask": "07",
        "transactionEventCounter": 1,
        "transactionLastEvent": True,
    }
    message = {"data": texts(row), "beforeData": before and texts(before), "headers": headers}
    envelope = {"magic": "atMSG", "type": "DT", "headers": None, "messageSchemaId": None}
    return json.dumps({**envelope, "messageSchema": None, "message": message})


def dms_message(
    verb: str,
    seq: str | None,
    table: str,
    xid: str = "1",
    row: dict[str, Any] | None = None,
    before: dict[str, Any] | None = None,
) -> str:
    """Data, or a control record where there is no row."""
    schema, name = table.split(".")
    metadata = {
        "timestamp": "2026-07-01T12:00:00.000000Z",
        "record-type": "control" if row is None else "data",
        "operation": verb,
        "partition-key-type": "schema-table",
        "schema-name": schema,
        "table-name": name,
    }
    sent: dict[str, Any] = {"metadata": metadata}
    if row is not None:
        metadata["transaction-id"] = xid
        sent = {"data": {**row, "AR_H_CHANGE_SEQ": seq or ""}, "metadata": metadata}
        if before:
            sent["before-image"] = before
    return json.dumps(sent, separators=(",", ":"))
