"""Logs of a table whose rows change places: keys are unique behind each statement, not in it."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from .capture import CaptureInstance
from .log import UTC, LogRecord, int_to_lsn

Rows = dict[int, str | None]  # id -> v
START = datetime(2024, 5, 1, tzinfo=UTC)
PLACES = CaptureInstance(
    "dbo", "places", "dbo_places", (("id", "int"), ("v", "string")), ("id",)
)  # fmt: skip


@dataclass(frozen=True)
class PermutedLog:
    """`states`: the commit's LSN and the table behind it, the first one as of LSN 0."""

    records: list[LogRecord]
    states: list[tuple[str, Rows]]


def make_permuted_log(
    seed: int,
    tables: int = 1,
    transactions: int = 8,
    is_empty: bool = False,
    values: Sequence[str | None] = ("a", "b", None),
) -> PermutedLog:
    """A table of some parts that do not touch each other, changed by turns."""
    rng = random.Random(seed)
    state: Rows = {}
    if not is_empty:
        for part in range(tables):
            state |= {100 * part + n: rng.choice(values) for n in range(5) if rng.random() < 0.6}
    log = PermutedLog([], [(int_to_lsn(0), dict(state))])
    with_commands = {part: rng.random() < 0.3 for part in range(tables)}
    turns = [part for part in range(tables) for _ in range(transactions)]
    rng.shuffle(turns)
    for number, part in enumerate(turns, start=1):
        time = START + timedelta(minutes=number)
        tran_id = f"t{number}"
        _write(log, tran_id, "BEGIN", time)
        for command in range(1, rng.randint(1, 4) + 1):
            keys = range(100 * part, 100 * part + 5)
            changes = _statement(rng, {k: state[k] for k in keys if k in state}, keys, values)
            for old, _ in changes:
                if old is not None:
                    del state[old[0]]
            rng.shuffle(changes)
            for old, new in changes:
                for images in _records(rng, old, new):
                    ordinal = command if with_commands[part] else None
                    _write(log, tran_id, _operation(*images), time, *images, ordinal)
            state |= dict(new for _, new in changes if new is not None)
        _write(log, tran_id, "COMMIT", time)
        log.states.append((log.records[-1].lsn, dict(state)))
    return log


Row = tuple[int, str | None]
Change = tuple[Row | None, Row | None]


def _statement(
    rng: random.Random, rows: Rows, keys: range, values: Sequence[str | None]
) -> list[Change]:
    """What one statement does to rows, each of them once: keys go round, rows come and go."""
    moved = [key for key in rows if rng.random() < 0.7]
    places = [key for key in keys if key not in rows or key in moved]
    rng.shuffle(places)
    changes: list[Change] = []
    for key, place in zip(moved, places, strict=False):
        what = rng.random()
        value = rng.choice(values) if rng.random() < 0.4 else rows[key]
        changes.append(((key, rows[key]), None if what < 0.15 else (place, value)))
    free = places[len(moved) :]
    changes += [(None, (key, rng.choice(values))) for key in free if rng.random() < 0.3]
    return changes


def _records(rng: random.Random, old: Row | None, new: Row | None) -> list[Change]:
    """A key change is one record, or a delete and an insert that nothing links."""
    if old and new and old[0] != new[0] and rng.random() < 0.3:
        return [(old, None), (None, new)]
    return [(old, new)]


def _operation(old: Row | None, new: Row | None) -> str:
    return "UPDATE" if old and new else "DELETE" if old else "INSERT"


def _write(
    log: PermutedLog,
    tran_id: str,
    operation: str,
    time: datetime,
    old: Row | None = None,
    new: Row | None = None,
    command: int | None = None,
) -> None:
    images = [row and json.dumps({"id": row[0], "v": row[1]}) for row in (old, new)]
    source = ("dbo", "places") if old or new else (None, None)
    lsn = int_to_lsn(len(log.records) + 1)
    log.records.append(
        LogRecord(lsn, tran_id, operation, time, *source, *images, command_id=command)
    )
