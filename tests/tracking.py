"""Change tracking in a temporary dbt project: its models, and what a client asks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from capturing import LOG_DDL, Capture
from harness import Project
from pyspark.sql import Row
from reference.capture import CaptureInstance
from reference.change_tracking import TrackedTable, mask
from reference.log import LogRecord, int_to_lsn


@dataclass(frozen=True)
class ContextRecord(LogRecord):
    """A record of a log that has contexts of change tracking."""

    change_tracking_context: str | None = None


def tracked_models(tables: Iterable[TrackedTable], **meta: Any) -> dict[str, str]:
    """The models of tracked tables and their YAML; `meta` is added to every table."""
    models, files = [], {}
    for table in tables:
        name = f"change_tracking_{table.suffix}"
        tracking = {
            "source_schema": table.source_schema,
            "source_name": table.source_name,
            "primary_key": list(table.primary_key),
            "track_columns_updated": table.track_columns_updated,
            **meta,
        }
        columns = [{"name": n, "data_type": t, "quote": True} for n, t in table.columns]
        config = {"meta": {"change_tracking": tracking}}
        models.append({"name": name, "config": config, "columns": columns})
        files[f"{name}.sql"] = "{{ dbt_cdc.change_tracking_table() }}\n"
    files["tracked.yml"] = json.dumps({"version": 2, "models": models}, ensure_ascii=False)
    return files


class Tracking(Capture):
    """A project with tracked tables, and captured ones where there are `instances`."""

    def __init__(
        self,
        make_project: Callable[..., Project],
        tables: Sequence[TrackedTable],
        instances: Sequence[CaptureInstance] = (),
        models: dict[str, str] | None = None,
        **options: Any,
    ) -> None:
        files = {**tracked_models(tables), **(models or {})}
        super().__init__(make_project, instances, models=files, **options)

    def clear(self) -> None:
        """As in any project; the log has a column for contexts."""
        self.project.clear()
        ddl = f"{LOG_DDL}, change_tracking_context string"
        self.sql(f"create table {{schema}}.landed ({ddl}) using parquet")

    def land(self, records: Iterable[LogRecord]) -> None:
        """Appends records to the log."""
        names = [name.split()[0] for name in LOG_DDL.split(", ")] + ["change_tracking_context"]
        rows = [tuple(getattr(record, name, None) for name in names) for record in records]
        if rows:
            ddl = f"{LOG_DDL}, change_tracking_context string"
            frame = self.project.spark.createDataFrame(rows, ddl)
            frame.coalesce(1).write.insertInto(f"{self.schema}.landed")

    def operation(self, name: str, **arguments: Any) -> str:
        """What a run-operation prints."""
        return self.project.ok("run-operation", name, "--args", json.dumps(arguments)).output

    def value(self, call: str) -> Any:
        """The value of a persistent function."""
        return self.sql(f"select {{schema}}.{call}")[0][0]

    def asked(
        self, table: TrackedTable, last_sync: int | None, allow_stale: bool = False
    ) -> list[Row]:
        """changetable_changes of a table by its persistent function."""
        baseline = "null" if last_sync is None else last_sync
        call = f"changetable_changes_{table.suffix}({baseline}, {str(allow_stale).lower()})"
        return self.sql(f"select * from {{schema}}.{call}")

    def changes_of(self, table: TrackedTable, last_sync: int | None) -> list[tuple[Any, ...]]:
        """As the reference gives them, but with masks."""
        return as_tuples(self.asked(table, last_sync, allow_stale=True), table)


def as_tuples(rows: Iterable[Row], table: TrackedTable) -> list[tuple[Any, ...]]:
    """Rows of changetable_changes by key, the key in a tuple of its own."""
    return sorted(
        ((*tuple(row)[:5], tuple(row[name] for name in table.primary_key)) for row in rows),
        key=lambda row: row[-1],
    )


def with_masks(found: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The reference's rows with masks for column ids."""
    return [(*row[:3], mask(row[3]), *row[4:]) for row in found]


class TrackingWriter:
    """Writes transactions, one an hour, and keeps all records."""

    def __init__(self, start: datetime) -> None:
        self.time, self.lsn, self.number, self.records = start, 0, 0, list[LogRecord]()
        self.landed = 0

    def commit(self, *changes: tuple[Any, ...], time: datetime | None = None) -> None:
        """A transaction of (operation, table, before, after, context) on dbo tables."""
        self.number += 1
        self.time = time or self.time
        tran_id = f"t{self.number}"
        self._log(tran_id, "BEGIN")
        for number, (operation, table, *rest) in enumerate(changes, 1):
            before, after, context = (*rest, None, None, None)[:3]
            self._log(tran_id, operation, table, before, after, context, number)
        self._log(tran_id, "COMMIT")

    def _log(
        self, tran_id: str, operation: str, table: str | None = None, before: Any = None,
        after: Any = None, context: str | None = None, command: int | None = None,
    ) -> None:  # fmt: skip
        self.lsn += 1
        images = [None if image is None else json.dumps(image) for image in (before, after)]
        source = ("dbo", table) if table else (None, None)
        lsn = int_to_lsn(self.lsn)
        self.records.append(
            ContextRecord(
                lsn, tran_id, operation, self.time, *source, *images, None, command, context
            )
        )

    def new(self) -> list[LogRecord]:
        """The records that were not handed out yet."""
        records, self.landed = self.records[self.landed :], len(self.records)
        return records
