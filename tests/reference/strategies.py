"""Hypothesis strategies for hostile canonical logs that agree with a simulated database.

A log is a function of (seed, steps): fewer steps give a prefix of the same history, so that
failures shrink to the shortest one, and other tests can build the same logs by number.
"""

from __future__ import annotations

import base64
import json
import random
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from .apply import State
from .capture import CaptureInstance, transactions
from .log import UTC, LogRecord, int_to_lsn
from .values import NAN, parse_type, same

Values = tuple[Any, ...]
KEYS = 10  # small numbers that are keys in one log
START = datetime(2024, 2, 29, 23, 59, 59, tzinfo=UTC)
NASTY = [
    "", " ", "null", "NULL", "12", "-0.0", "1e5", "é", "🎉👩‍👩‍👧", "it's \"q\"", "日本語", "İß",
    "line\r\nbreak\ttab", "back\\slash \\u0041", "\u0001\u2028", "'; drop table x --", '{"a": 1}',
    "a" * 300,
]  # fmt: skip
POOLS: dict[str, list[Any]] = {
    "tinyint": [0, 1, -128, 127],
    "smallint": [0, 7, -32768, 32767],
    "int": [0, 1, -2147483648, 2147483647],
    "bigint": [0, 3, 9007199254740993, -(2**63), 2**63 - 1],
    "decimal": [Decimal(0), Decimal("10.5"), Decimal("-0.01"), Decimal("1234567.89")],
    "float": [0.0, 3.25, -16777216.0, NAN],
    "double": [0.0, 0.1, -1e300, 5e-324, float("inf"), NAN],
    "boolean": [True, False],
    "string": NASTY,
    "varchar": [text for text in NASTY if len(text) <= 12],
    "char": ["", "a", "Ünï", "x y"],
    "binary": [b"", b"\x00", b"\xff\xfe", bytes(range(40))],
    "date": [date(1, 1, 1), date(1969, 12, 31), date(2024, 2, 29), date(9999, 12, 31)],
    "timestamp": [
        datetime(1900, 1, 1, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
        datetime(2024, 2, 29, 12, 30, 0, 120000, UTC),
    ],
}
TABLES = (
    CaptureInstance(
        "dbo", "items", "dbo_items",
        (("id", "bigint"), ("name", "string"), ("price", "decimal(38,18)"), ("at", "timestamp"),
         ("late", "int")),
        ("id",),
    ),
    CaptureInstance(
        "dbo", "pairs", "dbo_pairs",
        (("A", "int"), ("b", "varchar(12)"), ("x y", "double"), ("flag", "boolean"),
         ("day", "date"), ("raw", "binary"), ("c", "char(4)"), ("tiny", "tinyint"),
         ("f.1", "float")),
        ("b", "A"),
    ),
    CaptureInstance(
        "sales", "heap", "sales_heap",
        (("s", "string"), ("n", "smallint"), ("amount", "decimal(9,2)")),
    ),
)  # fmt: skip


@dataclass(frozen=True)
class HostileLog:
    """A log and the truth: `states` = (commit LSN, table name -> rows) of all commits in order."""

    records: tuple[LogRecord, ...]
    instances: tuple[CaptureInstance, ...]
    initial: dict[str, Counter[Values]]
    states: tuple[tuple[str, dict[str, Counter[Values]]], ...]

    def state(self, instance: CaptureInstance, lsn: str | None = None) -> State:
        """The true state of a table after the commits up to `lsn`; None = before the log."""
        rows = self.initial
        for commit, after in self.states:
            if lsn is not None and commit <= lsn:
                rows = after
        state = State(instance, bag=Counter(rows[instance.source_name]))
        if instance.index_columns:
            state.rows = {instance.key(values): values for values in state.bag}
            state.written = dict.fromkeys(state.rows, "")
        return state


@dataclass(frozen=True)
class Injected:
    """What was spoiled in a log: the scan must stop with this table, column and LSN."""

    kind: str
    table: str
    column: str | None
    lsn: str


def encode(value: Any, data_type: str, rng: random.Random) -> str:
    """One of the JSON spellings that must be read as `value`."""
    if value is None:
        return "null"
    kind, quote = parse_type(data_type)[0], rng.random() < 0.5
    if kind in ("string", "varchar", "char"):
        if value in ("12", "-0.0", "1e5") and quote:
            return value if value == "12" else json.dumps(value)
        padded = value.ljust(4) if kind == "char" and quote else value
        return json.dumps(padded, ensure_ascii=rng.random() < 0.5)
    if kind == "boolean":
        return json.dumps(value)
    if kind == "binary":
        return json.dumps(base64.b64encode(value).decode())
    if kind == "date":
        return json.dumps(value.isoformat())
    if kind == "timestamp":
        hours = rng.choice([None, 0, 2, -11])
        zone = UTC if hours is None else timezone(timedelta(hours=hours, minutes=30))
        text = value.astimezone(zone).isoformat(rng.choice("T "), "microseconds")
        if hours is None:  # without a zone it is UTC; digits beyond the sixth are cut
            text = text.removesuffix("+00:00") + rng.choice(["", "Z", "000", "999Z"])
        return json.dumps(text)
    if kind == "decimal":
        text = format(value, "f") + rng.choice(["", "0" * 25 if "." in format(value, "f") else ""])
    elif kind in ("float", "double"):
        text = {float("inf"): "Infinity", -float("inf"): "-Infinity"}.get(value, repr(value))
        if value is NAN or "y" in text:
            return json.dumps("NaN" if value is NAN else text)
        return text
    else:
        return str(value) + rng.choice(["", "", "", " ", "\n"])
    return f'"{text}"' if quote else text


@dataclass
class _Session:
    tran_id: str
    command: int = 0
    undo: list[tuple[str, Values, Values | None]] = field(default_factory=list)
    redo: list[tuple[str, Values, Values | None]] = field(default_factory=list)
    locks: set[tuple[str, Values]] = field(default_factory=set)


class _Database:
    """Sessions with row locks that change tables and write the log."""

    def __init__(self, seed: int, partial: bool, own_keys: int, has_late: bool) -> None:
        self.rng = rng = random.Random(seed)
        self.own_keys = own_keys
        self.instances = tuple(
            replace(t, before_image="partial" if partial and t.index_columns else "complete")
            for t in TABLES
        )
        self.number = rng.choice([0, 0xFFFFFFF0, 0x2D00000580FFF0, 2**72])
        self.clock, self.has_late, self.row_id = START, has_late, 0
        self.with_commands = rng.random() < 0.5
        self.records: list[LogRecord] = []
        self.sessions: list[_Session] = []
        self.live: dict[str, dict[Values, Values]] = {t.source_name: {} for t in TABLES}
        for table in self.instances:
            for _ in range(rng.randrange(4)):
                row = self.new_row(table)
                self.live[table.source_name][self.identity(table, row)] = row
        self.committed = {name: dict(rows) for name, rows in self.live.items()}
        self.initial = self.snapshot()
        self.states: list[tuple[str, dict[str, Counter[Values]]]] = []
        self.sessions += [_Session(f"old{n}") for n in range(rng.randrange(3))]  # no BEGIN

    def snapshot(self) -> dict[str, Counter[Values]]:
        return {name: Counter(rows.values()) for name, rows in self.committed.items()}

    def identity(self, table: CaptureInstance, row: Values) -> Values:
        self.row_id += 1
        return table.key(row) or (self.row_id,)

    def value(self, table: CaptureInstance, name: str, data_type: str) -> Any:
        kind = parse_type(data_type)[0]
        if name == "late" and not self.has_late:
            return None
        if name not in table.index_columns and self.rng.random() < 0.2:
            return None
        if kind == "decimal":
            scale = parse_type(data_type)[1][1]
            text = f"{self.rng.choice(POOLS[kind]):.{scale}f}"
            return Decimal(text)
        if name == "id" and self.rng.random() < 0.5:
            return self.rng.randrange(KEYS) + KEYS * self.own_keys
        value = self.rng.choice(POOLS[kind])
        if name in table.index_columns and isinstance(value, int):
            away = KEYS * self.own_keys
            return value - away if value == max(POOLS[kind]) else value + away
        return value

    def new_row(self, table: CaptureInstance) -> Values:
        return tuple(self.value(table, name, data_type) for name, data_type in table.columns)

    def write(self, operation: str, tran_id: str | None, **columns: Any) -> LogRecord:
        self.number += self.rng.choice([1, 1, 1, 2, 0x100])
        self.clock += timedelta(microseconds=self.rng.choice([0, 0, 0, 1, 1_000_000]))
        record = LogRecord(int_to_lsn(self.number), tran_id, operation, self.clock, **columns)
        self.records.append(record)
        return record

    def image(self, table: CaptureInstance, row: dict[str, Any]) -> str:
        types = dict(table.columns)
        members = [(name, encode(row[name], types[name], self.rng)) for name in row]
        if self.rng.random() < 0.2:  # columns that are not captured; keys are case sensitive
            members += [("Late", '"x"'), ("other", '{"deep": [1, null]}')]
        self.rng.shuffle(members)
        return "{" + ", ".join(f"{json.dumps(name)}: {text}" for name, text in members) + "}"

    def step(self) -> None:
        rng = self.rng
        action = rng.choices(
            ("begin", "change", "commit", "rollback", "ddl", "noise"), (4, 16, 3, 1, 0.3, 0.7)
        )[0]
        if action == "begin" and len(self.sessions) < 4:
            tran_id = rng.choice("abcdef")  # used again; sometimes still open and never ended
            for session in [s for s in self.sessions if s.tran_id == tran_id]:
                self.undo(session)
            self.sessions.append(_Session(tran_id))
            self.write("BEGIN", tran_id)
        elif action == "ddl" and not self.has_late:
            self.has_late = True
            command = "ALTER TABLE dbo.items ADD late int"
            table = {"source_schema": "dbo", "source_name": "items"}
            self.write("DDL", None, ddl_command=command, after_image="[]", **table)
        elif action == "noise":
            self.write(rng.choice(("COMMIT", "ROLLBACK")), "unknown")
        elif action != "begin" and self.sessions:
            session = rng.choice(self.sessions)
            if action == "change":
                session.command += rng.choice((0, 1, 1)) if session.command else 1
                self.change(session, rng.choice(self.instances))
            elif action == "commit":
                self.sessions.remove(session)
                for name, key, row in session.redo:
                    self.put(self.committed[name], key, row)
                record = self.write("COMMIT", session.tran_id)
                self.states.append((record.lsn, self.snapshot()))
            elif action == "rollback":
                self.undo(session)
                self.write("ROLLBACK", session.tran_id)

    def undo(self, session: _Session) -> None:
        self.sessions.remove(session)
        for name, key, row in reversed(session.undo):
            self.put(self.live[name], key, row)

    @staticmethod
    def put(rows: dict[Values, Values], key: Values, row: Values | None) -> None:
        if row is None:
            rows.pop(key, None)
        else:
            rows[key] = row

    def change(self, session: _Session, table: CaptureInstance) -> None:
        rng, name, rows = self.rng, table.source_name, self.live[table.source_name]
        others = {lock for s in self.sessions if s is not session for lock in s.locks}
        free = [key for key in rows if (name, key) not in others]
        old_key = rng.choice(free) if free and rng.random() < 0.7 else None
        old = rows[old_key] if old_key is not None else None
        new: Values | None = None
        if old is None:
            again = rows and not table.index_columns and rng.random() < 0.5
            new = rng.choice(list(rows.values())) if again else self.new_row(table)
        elif rng.random() < 0.7:
            chosen = rng.sample(table.names, rng.randrange(3))  # none: a no-op update
            if rng.random() < 0.4:
                chosen = [column for column in chosen if column not in table.index_columns]
            new = tuple(
                self.value(table, column, data_type) if column in chosen else value
                for (column, data_type), value in zip(table.columns, old, strict=True)
            )
        new_key = None if new is None else table.key(new) or old_key or self.identity(table, new)
        taken = new_key in rows or (name, new_key) in others
        if new_key is not None and new_key != old_key and taken:
            return
        for key, row in ((old_key, None), (new_key, new)):
            if key is not None:
                session.undo.append((name, key, rows.get(key)))
                session.redo.append((name, key, row))
                session.locks.add((name, key))
                self.put(rows, key, row)
        self.log_change(session, table, old, new, moved=new_key != old_key)

    def log_change(
        self,
        session: _Session,
        table: CaptureInstance,
        old: Values | None,
        new: Values | None,
        moved: bool,
    ) -> None:
        rng, keys = self.rng, table.index_columns
        names = [n for n in table.names if n != "late" or self.has_late]
        before, after = (
            None
            if row is None
            else {n: v for n, v in zip(table.names, row, strict=True) if n in names}
            for row in (old, new)
        )
        partial = table.before_image == "partial"
        if before is not None and after is not None and rng.random() < 0.4:
            kept = [n for n in names if not same(before[n], after[n]) or rng.random() < 0.5]
            if partial:
                kept = names if moved else [*kept, *keys]
            after = {n: v for n, v in after.items() if n in kept}
        if before is not None and partial and rng.random() < 0.7:
            kept = [n for n in names if n in keys or rng.random() < 0.2]
            before = {n: v for n, v in before.items() if n in kept}
            if after is not None and not moved and rng.random() < 0.5:
                before = None
        operation = "INSERT" if old is None else "DELETE" if new is None else "UPDATE"
        self.write(
            operation,
            session.tran_id,
            source_schema=table.source_schema,
            source_name=table.source_name,
            before_image=None if before is None else self.image(table, before),
            after_image=None if after is None else self.image(table, after),
            command_id=session.command if self.with_commands else None,
        )
        if rng.random() < 0.1:  # a table that is not captured may hold anything
            table_name = {"source_schema": "dbo", "source_name": "uncaptured"}
            self.write("UPDATE", session.tran_id, after_image="{broken", **table_name)


def make_log(
    seed: int, steps: int, partial: bool = False, own_keys: int = 0, has_late: bool = False
) -> HostileLog:
    """The log of `steps` steps; `partial`: keyed tables log partial or no before images. Logs with
    other `own_keys` have other keys; `has_late`: no DDL adds the last column, as it is there."""
    database = _Database(seed, partial, own_keys, has_late)
    for _ in range(steps):
        database.step()
    return HostileLog(
        tuple(database.records), database.instances, database.initial, tuple(database.states)
    )


SPOILERS = ("bad_json", "no_object", "missing", "partial", "bad_value", "bad_lsn", "bad_operation")


def spoil(log: HostileLog, seed: int) -> tuple[HostileLog, Injected] | None:
    """The log with one bad record in a committed transaction; None if there is none to spoil."""
    rng = random.Random(seed)
    by_name = {f"{i.source_schema}.{i.source_name}": i for i in log.instances}
    found = [
        r for t in transactions(log.records) for r in t.records
        if r.table in by_name and r.operation != "DDL"
    ]  # fmt: skip
    if not found:
        return None
    columns: dict[str, Any]
    record, kind, column = rng.choice(found), rng.choice(SPOILERS), None
    instance = by_name[record.table]
    which = "after_image" if record.operation != "DELETE" else "before_image"
    if kind == "bad_json":
        has_floats = any(t in ("float", "double") for _, t in instance.columns)
        bare = "nan" if has_floats else "NaN"  # beside a float the parser lets a bare NaN in
        columns = {which: rng.choice(['{"a": 1', "", f'{{"a": {bare}}}', "{'a': 1}"])}
    elif kind == "no_object":
        columns = {which: rng.choice(["[1]", "12", '"x"'])}
    elif kind == "missing":
        complete_update = record.operation == "UPDATE" and instance.before_image == "complete"
        which = rng.choice(["before_image", which]) if complete_update else which
        columns = {which: rng.choice([None, "null"])}
    elif kind == "partial":
        if record.operation != "UPDATE" or instance.before_image == "partial":
            return None
        column = instance.names[0]
        columns = {"before_image": "{}", "after_image": f'{{"{column}": null}}'}
    elif kind == "bad_value":
        wrong = {
            "bigint": "9223372036854775808", "decimal": '"1.0000000000000000001"', "int": "12.5",
            "timestamp": '"2024-13-01"', "varchar": '"0123456789abc"', "double": '"1e999"',
            "boolean": '"maybe"', "date": '"2024-02-30"', "binary": '"*"', "char": '"abcde"',
            "tinyint": "128", "float": "1e39", "smallint": '"x"',
        }  # fmt: skip
        typed = [(n, parse_type(t)[0]) for n, t in instance.columns if parse_type(t)[0] in wrong]
        column, data_type = rng.choice(typed)
        columns = {which: f"{{{json.dumps(column)}: {wrong[data_type]}}}"}
    elif kind == "bad_lsn":
        others = ["0x" + digit * 20 for digit in "G0"]
        columns = {"lsn": rng.choice([record.lsn[:-1], record.lsn + "0", *others])}
        column = "lsn"
    else:
        columns = {"operation": "MERGE"}
    bad = replace(record, **columns)
    records = tuple(bad if r is record else r for r in log.records)
    return replace(log, records=records), Injected(kind, record.table, column, bad.lsn)


def hostile_logs(max_steps: int = 120) -> st.SearchStrategy[HostileLog]:
    """Logs of complete or partial before images."""
    seeds = st.integers(0, 2**32 - 1)
    return st.builds(make_log, seeds, st.integers(0, max_steps), st.booleans())


def bad_logs(max_steps: int = 120) -> st.SearchStrategy[tuple[HostileLog, Injected]]:
    """Logs with exactly one bad record, and where it is."""
    seeds = st.integers(0, 2**32 - 1)
    spoiled = st.builds(spoil, hostile_logs(max_steps), seeds)
    return spoiled.filter(lambda found: found is not None)  # type: ignore[return-value]


def batch_borders(log: HostileLog) -> st.SearchStrategy[list[str]]:
    """LSNs at which the log is cut into batches, ascending; anywhere, also inside transactions."""
    lsns = [r.lsn for r in log.records] or ["0x" + "0" * 20]
    return st.lists(st.sampled_from(lsns), max_size=4, unique=True).map(sorted)


def windows(log: HostileLog) -> st.SearchStrategy[tuple[str, str]]:
    """(from_lsn, to_lsn) with from <= to, between commits of the log (which must have some)."""
    commits = st.sampled_from([lsn for lsn, _ in log.states])
    return st.tuples(commits, commits).map(lambda pair: (min(pair), max(pair)))
