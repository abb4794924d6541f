"""What DDL and TRUNCATE records do to a table's capture instances (docs/instances.md)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from .capture import CaptureInstance, ChangeRow, transactions
from .log import LogRecord, int_to_lsn, lsn_to_int


@dataclass(frozen=True)
class SchemaChange:
    """A committed DDL or TRUNCATE record of one table; a DDL without columns drops it."""

    commit_lsn: str
    lsn: str
    operation: str
    ddl_command: str | None
    time: datetime | None
    columns: str | None


def schema_changes(records: Iterable[LogRecord], instance: CaptureInstance) -> list[SchemaChange]:
    """The committed schema changes of the instance's table, in commit order."""
    source = instance.source_schema, instance.source_name
    return [
        SchemaChange(
            t.commit_lsn or "", r.lsn, r.operation, r.ddl_command, r.record_time, r.after_image
        )
        for t in transactions(records)
        for r in t.records
        if r.operation in ("DDL", "TRUNCATE") and (r.source_schema, r.source_name) == source
    ]


def low_end(records: Iterable[LogRecord], instance: CaptureInstance, start_lsn: str) -> str:
    """The low end of an instance that starts at `start_lsn`: no window spans a TRUNCATE, or the
    CREATE of a table that was dropped; what its transaction has behind it counts."""
    low = start_lsn
    for change in emptying(records, instance):
        is_alone = change.lsn == change.commit_lsn
        low = max(low, int_to_lsn(lsn_to_int(change.commit_lsn) + is_alone))
    return low


def emptying(records: Iterable[LogRecord], instance: CaptureInstance) -> list[SchemaChange]:
    """The changes that leave the table empty."""
    found, is_dropped = [], False
    for change in schema_changes(records, instance):
        if change.operation == "TRUNCATE" or (is_dropped and change.columns):
            found.append(change)
        if change.operation == "DDL":
            is_dropped = change.columns is None
    return found


def captured_since(
    rows: Iterable[ChangeRow], records: Iterable[LogRecord], instance: CaptureInstance
) -> list[ChangeRow]:
    """The change rows without those that a TRUNCATE of the same transaction has removed."""
    places = {change.commit_lsn: change.lsn for change in emptying(records, instance)}
    return [row for row in rows if row.seqval > places.get(row.start_lsn, "")]
