"""Transactions of tables of the schema dbo, a minute apart, one after the other."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

from reference.log import UTC, LogRecord, int_to_lsn

START = datetime(2024, 5, 1, tzinfo=UTC)


class Writer:
    """The records of a log as it goes on; `last` is the LSN of the newest."""

    def __init__(self) -> None:
        self.records = self.transactions = 0
        self.time = START

    @property
    def last(self) -> str:
        return int_to_lsn(self.records)

    def record(self, operation: str, table: str = "", **columns: Any) -> LogRecord:
        """One record; images are JSON text or dictionaries."""
        self.records += 1
        columns = {k: json.dumps(v) if isinstance(v, dict) else v for k, v in columns.items()}
        if table:
            columns.update(source_schema="dbo", source_name=table)
        columns.setdefault("tran_id", f"t{self.transactions}")
        return LogRecord(self.last, operation=operation, record_time=self.time, **columns)

    def commit(self, table: str, before: Any = None, after: Any = None) -> list[LogRecord]:
        """A transaction with one change."""
        self.transactions += 1
        self.time += timedelta(minutes=1)
        operation = "INSERT" if before is None else "DELETE" if after is None else "UPDATE"
        return [
            self.record("BEGIN"),
            self.record(operation, table, before_image=before, after_image=after),
            self.record("COMMIT"),
        ]

    def insert(self, table: str, **row: Any) -> list[LogRecord]:
        """A transaction with one new row."""
        return self.commit(table, after=row)
