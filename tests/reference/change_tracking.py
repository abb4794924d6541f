"""Change tracking, transcribed plainly: every event of every key is kept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from .capture import transactions
from .log import LogRecord, lsn_to_int, parse_json
from .values import read_value, same

Key = tuple[Any, ...]


@dataclass(frozen=True)
class TrackedTable:
    """`columns` = (name, type) in the source's order: a column's id is its place from 1."""

    source_schema: str
    source_name: str
    columns: tuple[tuple[str, str], ...]
    primary_key: tuple[str, ...]
    track_columns_updated: bool = True

    @property
    def suffix(self) -> str:
        """What names of models and functions end with."""
        return f"{self.source_schema}_{self.source_name}".lower()

    @property
    def table(self) -> str:
        """`schema.name`."""
        return f"{self.source_schema}.{self.source_name}"


@dataclass(frozen=True)
class Event:
    """What a record does to a key: 'I', 'U' or 'D'. `column_ids` are an update's; None are all.
    `row` is what comes to the key or leaves it."""

    version: int
    operation: str
    key: Key
    column_ids: tuple[int, ...] | None
    context: str | None
    row: Key


def existed(events: Sequence[Event]) -> bool:
    """Whether a key had a row before all that one transaction did to it: in one statement rows
    may come to a key before the one that was there leaves it."""
    gain = rows_gained(events)
    if gain or events[0].operation != "I" or events[-1].operation != "D":
        return gain <= 0
    left = [event.operation for event in events].index("D")
    return events[left].row not in [event.row for event in events[:left]]


def rows_gained(events: Iterable[Event]) -> int:
    """Rows that came to a key less those that left it."""
    return sum({"I": 1, "U": 0, "D": -1}[event.operation] for event in events)


@dataclass(frozen=True)
class Commit:
    """A row of syscommittab."""

    version: int
    tran_id: str
    lsn: str
    time: datetime | None


@dataclass
class ChangeTracking:
    """All that was tracked: `events` by table, `min_valid` by table, `hardened`."""

    tables: Sequence[TrackedTable]
    commits: list[Commit] = field(default_factory=list)
    events: dict[str, list[Event]] = field(default_factory=dict)
    min_valid: dict[str, int] = field(default_factory=dict)
    invalid: int = 0

    @property
    def current_version(self) -> int:
        """The last version."""
        return self.commits[-1].version if self.commits else 0

    def follow(self, records: Iterable[LogRecord]) -> None:
        """Tracks the commits of a log after those that are tracked already."""
        last = self.commits[-1].lsn if self.commits else ""
        sources = {(t.source_schema, t.source_name) for t in self.tables}
        for table in self.tables:
            self.min_valid.setdefault(table.table, self.current_version)
        for transaction in transactions(records):
            assert transaction.commit_lsn
            touching = [
                r for r in transaction.records if (r.source_schema, r.source_name) in sources
                and (r.operation in ("INSERT", "UPDATE", "DELETE", "TRUNCATE") or is_drop(r))
            ]  # fmt: skip
            if transaction.commit_lsn <= last or not touching:
                continue
            version = self.current_version + 1
            for table in self.tables:
                self._track(table, version, touching)
            self.commits.append(
                Commit(version, transaction.tran_id, transaction.commit_lsn, transaction.end_time)
            )

    def _track(self, table: TrackedTable, version: int, records: Iterable[LogRecord]) -> None:
        found: list[tuple[Any, ...]] = []
        for record in records:
            if record.table != table.table:
                continue
            if record.operation == "TRUNCATE" or is_drop(record):
                self.min_valid[table.table] = version
            if record.operation in ("TRUNCATE", "DDL"):
                continue
            command = -1 if record.command_id is None else record.command_id
            lsn = lsn_to_int(record.lsn)
            for operation, key, ids, row in key_events(table, record):
                # rows that swap their keys in one statement: deletes first
                statement = lsn if record.command_id is None else 0
                place = (command, statement, operation != "D", lsn)
                context = getattr(record, "change_tracking_context", None)
                found.append((place, Event(version, operation, key, ids, context, row)))
        found.sort(key=lambda pair: pair[0])
        self.events.setdefault(table.table, []).extend(event for _, event in found)

    def changes(self, table: TrackedTable, last_sync: int | None) -> list[tuple[Any, ...]]:
        """CHANGETABLE(CHANGES ...): (version, creation version, operation, column ids, context,
        key) by key, of versions that are still kept."""
        baseline = max(last_sync or 0, self.min_valid[table.table])
        histories: dict[Key, list[Event]] = {}
        for event in self.events.get(table.table, []):
            if event.version > baseline:
                histories.setdefault(event.key, []).append(event)
        found = []
        for key, history in sorted(histories.items()):
            last, created = history[-1], [e.version for e in history if e.operation == "I"]
            was_there = existed([e for e in history if e.version == history[0].version])
            operation = "D" if is_gone(history) else "U" if was_there else "I"
            ids: tuple[int, ...] | None = None
            updates = [event.column_ids for event in history if event.operation == "U"]
            is_listed = len(updates) == len(history) and None not in updates
            if table.track_columns_updated and operation == "U" and is_listed:
                ids = tuple(sorted({n for update in updates for n in update or ()}))
            creation = max(created, default=None)
            found.append((last.version, creation, operation, ids, last.context, key))
        return found

    def version(self, table: TrackedTable, key: Key) -> tuple[Any, ...] | None:
        """CHANGETABLE(VERSION ...): (version, context); None where the key was deleted last."""
        floor = self.min_valid[table.table]
        history = [
            e for e in self.events.get(table.table, []) if e.key == key and e.version > floor
        ]
        if not history:
            return None, None
        if is_gone(history):
            return None
        return history[-1].version, history[-1].context

    def is_valid(self, table: TrackedTable, last_sync: int | None) -> bool:
        """Whether a baseline can be answered."""
        return last_sync is None or (
            self.min_valid[table.table] <= last_sync <= self.current_version
        )

    def clean_up(self, retention: timedelta) -> int:
        """The cleanup job: versions before the first whose commit is at most `retention` before the
        last one are invalid. Returns the invalid cleanup version."""
        times = [commit.time for commit in self.commits if commit.time]
        if times:
            low = max(times) - retention
            kept = min(c.version for c in self.commits if c.time and c.time >= low)
            self.invalid = max(self.invalid, kept - 1)
        for table in self.tables:
            self.min_valid[table.table] = max(self.min_valid[table.table], self.invalid)
        return self.invalid


def is_gone(history: Sequence[Event]) -> bool:
    """Whether a key has no row behind all that was done to it."""
    last = [event for event in history if event.version == history[-1].version]
    return existed(last) + rows_gained(last) <= 0


def is_drop(record: LogRecord) -> bool:
    """Whether a record says that its table was dropped."""
    said = re.search(r"(?i)\bdrop\s+table\b", record.ddl_command or "drop table")
    return record.operation == "DDL" and record.after_image is None and bool(said)


def key_events(
    table: TrackedTable, record: LogRecord
) -> list[tuple[str, Key, tuple[int, ...] | None, Key]]:
    """What a record does to keys: (operation, key, column ids, row)."""
    before, after = (
        {
            name: read_value(image[name], data_type)
            for name, data_type in table.columns
            if name in image
        }
        for image in (
            parse_json(record.before_image or "{}"),
            parse_json(record.after_image or "{}"),
        )
    )
    after = {**before, **after} if record.operation == "UPDATE" else after
    old, new = (tuple(image.get(name) for name in table.primary_key) for image in (before, after))
    left, came = (tuple(map(image.get, dict(table.columns))) for image in (before, after))
    if record.operation == "INSERT":
        return [("I", new, None, came)]
    if record.operation == "DELETE":
        return [("D", old, None, left)]
    if old != new:
        return [("D", old, None, left), ("I", new, None, came)]
    others = {n for n, (name, _) in enumerate(table.columns, 1) if name not in table.primary_key}
    changed = {
        n
        for n, (name, _) in enumerate(table.columns, 1)
        if not same(before.get(name), after.get(name))
    }
    ids = None if others and changed == others else tuple(sorted(changed))
    return [("U", new, ids, came)]


def mask(column_ids: Iterable[int] | None) -> str | None:
    """SQL Server's layout: four bytes of zeros, then four bytes a column id, lowest first."""
    if column_ids is None:
        return None
    return "0x" + (bytes(4) + b"".join(n.to_bytes(4, "little") for n in column_ids)).hex().upper()
