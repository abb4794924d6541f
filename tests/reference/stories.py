"""Random stories of a source (`source.py`): what its users do, its connector suffers and its
transport does to the events."""

from __future__ import annotations

import random
from copy import deepcopy
from dataclasses import dataclass
from itertools import groupby

from .debezium import Event
from .source import Connector, Database, Row


@dataclass
class Story:
    """A database, and its connector's events in the order in which they land."""

    database: Database
    events: list[Event]


def begin(
    rng: random.Random, metadata: bool = True, kind: type[Connector] = Connector
) -> tuple[Database, Connector]:
    """Two tables with a key and one without, and a snapshot of them that may have broken off."""
    database = Database(["t", "s", "bag"], ["t", "s"])
    database.commit(
        ("insert", "t", *(_row(rng, n) for n in range(1, 6))),
        ("insert", "s", *(_row(rng, n) for n in range(1, 4))),
        ("insert", "bag", *[{"id": 0, "v": "same"}] * 2),
    )
    connector = kind(database, metadata=metadata)
    micros = rng.random() < 0.7
    if rng.random() < 0.3:
        connector.snapshot(rng.randrange(1, 8), micros)
        database.next_lsn()
    connector.snapshot(micros=micros)
    return database, connector


WAYS = ["stream", "restart", "restart", "again", "twice", "snapshot"]


def go_on(
    rng: random.Random, database: Database, connector: Connector, ways: list[str] = WAYS
) -> None:
    """A few transactions, and how the connector gets through them. Equal rows of one INSERT into a
    table without a key come where it does not restart: else nothing tells them from copies."""
    what = rng.choice(ways)
    for _ in range(rng.randrange(1, 4)):
        database.commit(*_statements(rng, database, has_equal=what == "stream"))
    if what == "snapshot":
        connector.stream()
        before, number = deepcopy(database.tables), len(database.transactions)
        database.commit(*_statements(rng, database, has_equal=False))
        seen = rng.choice([None, before])
        connector.snapshot(micros=rng.random() < 0.7, tables=seen, resume_at=number)
        connector.stream()
    elif what in ("restart", "twice"):
        connector.stream(events=rng.randrange(1, 12))
        for _ in range(1 if what == "restart" else 2):
            connector.restart(rng.randrange(0, 5), events=rng.randrange(1, 9))
        connector.restart(rng.randrange(0, 3))
    else:
        connector.stream()
        if what == "again":
            connector.restart(rng.randrange(1, 15))


def _row(rng: random.Random, number: int) -> Row:
    return {"id": number, "v": rng.choice("abc")}


def _statements(
    rng: random.Random, database: Database, has_equal: bool
) -> list[tuple[object, ...]]:
    """One to four statements that fit what the tables have by then."""
    held = {table: [dict(row) for row in rows] for table, rows in database.tables.items()}
    statements: list[tuple[object, ...]] = []
    for _ in range(rng.randrange(1, 5)):
        table = rng.choice(["t", "t", "s", "bag"])
        rows = held[table]
        ids = {row["id"] for row in rows}
        verb = rng.choice(["insert", "insert", "update", "update", "move", "rotate", "delete"])
        if verb == "insert" or len(rows) < 3:
            first = rng.choice([n for n in range(1, 400) if not ids & {n, n + 1, n + 2}])
            new = [_row(rng, n) for n in range(first, first + rng.randrange(1, 4))]
            if table == "bag" and has_equal:
                new = [rng.choice(rows or new)] * rng.randrange(1, 4)
            statements.append(("insert", table, *new))
            rows += [dict(row) for row in new]
        elif verb == "delete" or table == "bag":
            row = rows.pop(rng.randrange(len(rows)))
            statements.append(("delete", table, row))
        elif verb == "update":
            pairs = []
            for n in rng.sample(range(len(rows)), rng.randrange(1, 3)):
                pairs += [rows[n], {**rows[n], "v": rng.choice("xyz")}]
                rows[n] = dict(pairs[-1])
            statements.append(("update", table, *pairs))
        elif verb == "move":
            n, free = rng.randrange(len(rows)), next(i for i in range(400, 999) if i not in ids)
            new = {**rows[n], "id": free}
            statements.append(("update", table, rows[n], new))
            rows[n] = dict(new)
        else:
            some = rng.sample(range(len(rows)), 3)
            moved = [{**rows[n], "id": rows[some[k - 1]]["id"]} for k, n in enumerate(some)]
            pairs = [row for n, new in zip(some, moved, strict=True) for row in (rows[n], new)]
            statements.append(("update", table, *pairs))
            for n, new in zip(some, moved, strict=True):
                rows[n] = dict(new)
    return statements


def arrive_by_topic(rng: random.Random, events: list[Event]) -> list[Event]:
    """Each topic in its order, one ahead of the other by chance; some events twice."""
    queues: dict[str, list[Event]] = {}
    for event in events:
        queues.setdefault(event.topic, []).append(event)
    lag = {topic: rng.choice([1, 1, 5]) for topic in queues}
    landed: list[Event] = []
    left = sorted(queues)
    while left:
        topic = rng.choices(left, [lag[t] * len(queues[t]) for t in left])[0]
        for _ in range(rng.randrange(1, 6)):
            if queues[topic]:
                landed.append(queues[topic].pop(0))
        left = [t for t in left if queues[t]]
        if landed and rng.random() < 0.05:
            landed += landed[-rng.randrange(1, 5) :]
    return landed


def clean(
    seed: int,
    segments: int,
    ways: list[str] = WAYS,
    metadata: bool = True,
    kind: type[Connector] = Connector,
) -> Story:
    """A story whose log is the database, whatever the connector went through. Without `metadata`
    topics land in one order. The last transaction lands once: one whose BEGIN comes twice waits."""
    rng = random.Random(seed)
    database, connector = begin(rng, metadata, kind)
    for _ in range(segments):
        go_on(rng, database, connector, ways)
    database.commit(*_statements(rng, database, has_equal=False))
    last = len(connector.sent)
    connector.stream()
    if not metadata:
        connector.beat()
        return Story(database, connector.sent)
    landed: list[Event] = []
    for is_row, events in groupby(connector.sent[:last], lambda e: '"op": "r"' in (e.value or "")):
        mixed = not is_row and rng.random() < 0.8
        part = list(events)
        landed += arrive_by_topic(rng, part) if mixed else part
    return Story(database, landed + connector.sent[last:])


def faulty(
    seed: int,
    ways: list[str] = WAYS,
    metadata: bool = True,
    kind: type[Connector] = Connector,
) -> tuple[str, Story]:
    """A short story in which something goes wrong that no log can always make good."""
    rng = random.Random(seed)
    database, connector = begin(rng, metadata, kind)
    for _ in range(3):
        go_on(rng, database, connector, ways)
    start = rng.randrange(8, len(connector.sent))
    events = list(connector.sent)
    fault = rng.choice(["lost", "late", "part", "back", "other", "shuffled"])
    if fault == "lost":  # what was sent before a restart, and not again, leaves no trace
        database, connector = begin(rng, metadata, kind)
        start = len(connector.sent) + 3
        for _ in range(5):
            database.commit(*_statements(rng, database, has_equal=True))
        connector.stream()
        events = list(connector.sent)
        del events[start]
    elif fault == "late":
        events.append(events.pop(start))
    elif fault == "part":
        part = events[start : start + rng.randrange(2, 12)]
        events = [*events[:start], *events[start + len(part) :], *part]
    elif fault == "shuffled":
        part = events[start : start + 25]
        rng.shuffle(part)
        events[start : start + 25] = part
    elif fault == "back":
        database.restore(rng.randrange(200, 4000))
        go_on(rng, database, connector, ways)
        events = connector.sent
    else:
        other = Database(["t"], ["t"], name="other")
        other.lsn = database.lsn + rng.randrange(-500, 500)
        other.commit(("insert", "t", {"id": 99, "v": "other"}))
        foreign = kind(other, f"{connector.name}2", metadata=metadata)
        foreign.stream()
        events[start:start] = foreign.sent
    return fault, Story(database, events)
