"""A small story of two tables, told window by window, and what it must look like when captured.

For tests in which the runs are the hard part, not the log: windows of one shape, whose LSNs lie a
fixed stride apart, so that the statements of one window can be rewritten into those of another.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from capturing import Capture
from harness import Project
from reference.capture import CaptureInstance, ChangeRow, capture, lsn_time_mapping
from reference.log import UTC, LogRecord, int_to_lsn
from statements import LSN

ITEMS = CaptureInstance("dbo", "items", "dbo_items", (("id", "int"), ("name", "string")), ("id",))
NOTES = CaptureInstance("dbo", "notes", "dbo_notes", (("text", "string"),))
START, STRIDE = 0x1000, 0x100


def window_records(number: int) -> list[LogRecord]:
    """Window `number`, from 0: all kinds of changes, two commits, one transaction that is rolled
    back and one that began in the window before. Every third window has none of `notes`."""
    base = START + number * STRIDE
    time = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=number)
    records: list[LogRecord] = []
    lsns = itertools.count(base)

    def log(tran_id: str, operation: str, table: str | None = None, **images: Any) -> None:
        source = {"source_schema": "dbo", "source_name": table} if table else {}
        texts = {f"{which}_image": json.dumps(image) for which, image in images.items()}
        lsn = int_to_lsn(next(lsns))
        if table != "notes" or number % 3 != 2:
            records.append(LogRecord(lsn, tran_id, operation, time, **source, **texts))  # type: ignore

    item = {"id": number, "name": f"item {number}"}
    long, short = f"long{number}", "short"  # the id of a short transaction is used again
    log(short, "BEGIN")
    log(short, "INSERT", "items", after=item)
    log(long, "BEGIN")
    log(long, "DELETE", "items", before={**item, "name": "renamed"})
    log(short, "UPDATE", "items", before=item, after={**item, "name": "renamed"})
    log(short, "INSERT", "notes", after={"text": f"note {number}"})
    log("lost", "INSERT", "items", after={"id": -1, "name": "lost"})
    log("lost", "ROLLBACK")
    log(short, "COMMIT")
    if number:
        log(f"long{number - 1}", "COMMIT")
    return records


def moved(sql: str, by_windows: int) -> str:
    """A statement of one window -> the same of a later one."""

    def move(match: Any) -> str:
        lsn = int(match[0], 16)
        # the first record is the low end of all windows
        is_fixed = lsn <= START or lsn >= START << 40
        return match[0] if is_fixed else int_to_lsn(lsn + by_windows * STRIDE)

    return LSN.sub(move, sql)


class Story:
    """A project that captures the story; `records` is what has landed."""

    def __init__(
        self, make_project: Callable[..., Project], kind: type[Capture] = Capture, **options: Any
    ) -> None:
        self.capture = kind(make_project, [ITEMS, NOTES], **options)
        self.records: list[LogRecord] = []
        self.windows = 0
        self.ends: dict[str, tuple[str, str]] = {}

    def clear(self) -> None:
        """Starts the story again."""
        self.capture.clear()
        self.records, self.windows, self.ends = [], 0, {}

    def land(self, windows: int = 1) -> None:
        """The next windows land in the log."""
        new = [r for n in range(self.windows, self.windows + windows) for r in window_records(n)]
        self.windows += windows
        self.records += new
        self.capture.land(new)

    def land_both(self) -> None:
        """The next window lands, and the one after it where that has only one table's rows."""
        self.land(2 if self.windows % 3 == 2 else 1)

    def tables(self) -> set[str]:
        """The tables and views that exist, without those of the session."""
        rows = self.capture.sql("show tables in {schema}")
        return {row.tableName for row in rows if not row.isTemporary}

    def published(self) -> str:
        """The published high end, all zeros before the first; neither end may have moved back."""
        rows = []
        if "validity_intervals" in self.tables():
            rows = self.capture.sql("select * from {schema}.validity_intervals")
        for row in rows:
            low, high = self.ends.get(row.capture_instance, ("", ""))
            assert row.low_end >= low, f"the low end moved back from {low} to {row.low_end}"
            assert (row.high_end or "") >= high, f"{high} moved back to {row.high_end}"
            self.ends[row.capture_instance] = (row.low_end, row.high_end or "")
        assert len({row.high_end for row in rows}) <= 1
        return (rows[0].high_end if rows else None) or int_to_lsn(0)

    def expected(self, instance: CaptureInstance) -> list[ChangeRow]:
        """What the reference captures of all that has landed."""
        return capture(self.records, instance)

    def check_published_part(self) -> None:
        """The functions give the whole of what is published, and nothing beyond it."""
        end = self.published()
        if end == int_to_lsn(0):
            return
        for instance in (ITEMS, NOTES):
            found = self.capture.call(
                f"fn_cdc_get_all_changes_{instance.capture_instance}",
                int_to_lsn(START), end, "all update old",
            )  # fmt: skip
            assert sorted(r["__$seqval"] + str(r["__$operation"]) for r in found) == sorted(
                r.seqval + str(r.operation) for r in capture(self.records, instance, None, end)
            )

    def check(self) -> None:
        """All that has landed is captured, once, and published."""
        rows = {}
        for instance in (ITEMS, NOTES):
            rows[instance.capture_instance] = capture(self.records, instance)
            assert self.capture.changes(instance) == rows[instance.capture_instance]
        mapping = lsn_time_mapping(self.records, rows)
        found = self.capture.sql("select * from {schema}.lsn_time_mapping order by start_lsn")
        assert [(r.start_lsn, r.tran_id, r.tran_begin_lsn) for r in found] == [
            (m.start_lsn, m.tran_id, m.tran_begin_lsn) for m in mapping
        ]
        assert self.published() == mapping[-1].start_lsn

    def contents(self) -> dict[str, list[str]]:
        """Everything that must not depend on how the runs went."""
        return {
            table: sorted(
                repr(row) for row in self.capture.sql(f"select {columns} from {{schema}}.{table}")
            )
            for table, columns in {
                "dbo_items_ct": "*",
                "dbo_notes_ct": "*",
                "lsn_time_mapping": "*",
                "validity_intervals": "*",
                "change_tables": "* except (create_date)",
                "captured_columns": "*",
                "index_columns": "*",
            }.items()
        }
