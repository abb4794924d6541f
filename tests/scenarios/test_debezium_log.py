"""The Debezium adapter against its plain-Python twin: whole logs, batches, repeated, late events.

Most cases run the model's compiled SQL on their own events; dbt itself runs the incremental ones.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from typing import Any

import pytest
from harness import Project
from pyspark.sql import Row, SparkSession
from reference.debezium import Event, read_log
from reference.log import LogRecord
from reference.truth import data_dir, landed_events

pytestmark = pytest.mark.slow

DATA = data_dir()
needs_data = pytest.mark.skipif(DATA is None, reason="no real logs: ../shared/data is not there")
LANDED = "position bigint, topic string, key string, value string, headers string"
COLUMNS = (
    "lsn", "tran_id", "operation", "record_time", "source_schema", "source_name", "before_image",
    "after_image", "ddl_command", "command_id",
)  # fmt: skip
TYPES = {
    "public.customers": {
        "balance": "decimal(18,4)", "wide": "decimal(38,18)", "birth": "date", "avatar": "binary",
        "updated_at": "timestamp(3)",
    },
    "public.orders": {"amount": "decimal(12,2)", "shipped_at": "timestamp(6)"},
    "public.pgbench_history": {"mtime": "timestamp(6)"},
    "public.t": {
        "d": "decimal(38,9)", "n": "decimal(38,0)", "day": "date", "ms": "timestamp(0)",
        "us": "timestamp", "hex": "binary(hex)",
    },
}  # fmt: skip
BEFORE_IMAGES = {"public.docs": "key"}
MODEL = """{{{{ config(materialized='{materialized}', file_format='delta') }}}}
{{{{ dbt_cdc.debezium_log(
    source('kafka', 'landed'), types=var('types'), before_images=var('before_images')
) }}}}"""
SOURCE = "sources: [{name: kafka, schema: '{{ target.schema }}', tables: [{name: landed}]}]"
Log = list[tuple[Any, ...]]


# --- how logs are made and compared ---------------------------------------------------------------


def canonical(records: Iterable[LogRecord | Row]) -> Log:
    """The canonical columns in LSN order; the twin's control characters are spelled as Spark's."""
    rows = []
    for record in records:
        row = {name: getattr(record, name) for name in COLUMNS}
        if row["record_time"].tzinfo:
            row["record_time"] = row["record_time"].replace(tzinfo=None)
        for image in ("before_image", "after_image"):
            if row[image] is not None:
                row[image] = json.dumps(json.loads(row[image]), ensure_ascii=False)
        rows.append(tuple(row.values()))
    return sorted(rows)


def expected(events: Iterable[Event]) -> Log:
    """The twin's log. It does not know binary(hex)."""
    types = {table: {c: t for c, t in of.items() if c != "hex"} for table, of in TYPES.items()}
    return canonical(read_log(events, types, BEFORE_IMAGES).records)


def arrive(events: Iterable[Event | None]) -> list[Event]:
    """The events with positions in their order."""
    return [replace(event, position=n) for n, event in enumerate(events, start=1) if event]


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    models = {
        "log_view.sql": MODEL.format(materialized="view"),
        "log_batches.sql": MODEL.format(materialized="incremental"),
        "sources.yml": SOURCE,
    }
    return make_project(models=models, vars={"types": TYPES, "before_images": BEFORE_IMAGES})


@pytest.fixture(scope="module")
def read(project: Project, spark: SparkSession) -> Callable[[Iterable[Event]], Log]:
    """The adapter's log of events, by the SQL that dbt compiles."""
    project.ok("compile", "--select", "log_view")
    path = project.folder / f"target/compiled/{project.name}/models/log_view.sql"
    query = path.read_text(encoding="utf-8").replace(f"{project.schema}.landed", "landed_events")

    def run(events: Iterable[Event]) -> Log:
        rows = [(e.position, e.topic, e.key, e.value, e.headers) for e in events]
        spark.createDataFrame(rows, LANDED).createOrReplaceTempView("landed_events")
        return canonical(spark.sql(query).collect())

    return run


@pytest.fixture
def run_batches(project: Project, spark: SparkSession) -> Callable[[list[list[Event]]], Log]:
    """The log of an incremental model, one dbt run after each batch of landed events."""

    def run(batches: list[list[Event]]) -> Log:
        project.clear()
        for batch in batches:
            rows = [(e.position, e.topic, e.key, e.value, e.headers) for e in batch]
            landed = spark.createDataFrame(rows, LANDED).coalesce(1).write.format("delta")
            landed.mode("append").saveAsTable(f"{project.schema}.landed")
            project.ok("run", "--select", "log_batches")
        return canonical(project.table("log_batches").collect())

    return run


def change(op: str, xid: str, order: int, wal: int, /, table: str = "t", **more: Any) -> Event:
    """A data event; all of a transaction tell its commit time."""
    source = {"schema": "public", "table": table, "lsn": wal, "snapshot": "false"}
    source["ts_us"] = int(xid) * 1_000_001
    transaction = {"id": f"{xid}:{wal}", "total_order": order}
    headers = more.pop("headers", None)
    value = {"op": op, "source": source, "transaction": transaction, **more}
    key = more.pop("key", None)
    return Event(0, f"pg.public.{table}", key, json.dumps(value), headers)


def snapshot_row(number: int, wal: int, mark: str = "true") -> Event:
    source = {"schema": "public", "table": "t", "lsn": wal, "ts_us": wal, "snapshot": mark}
    value = {"op": "r", "after": {"k": number}, "source": source, "transaction": None}
    return Event(0, "pg.public.t", None, json.dumps(value))


def status(word: str, xid: str, wal: int, count: int | None = None) -> Event:
    value = {"status": word, "id": f"{xid}:{wal}", "event_count": count, "ts_ms": wal}
    return Event(0, "pg.transaction", None, json.dumps(value))


TOMBSTONE = Event(0, "pg.public.t", '{"k": 1}', None)


def key_change(xid: str, order: int, wal: int) -> list[Event]:
    """Delete, tombstone, create; the large value `v` did not change and was not logged."""
    old, new = {"k": 1, "v": "large", "w": None}, {"k": 2, "v": UNAVAILABLE, "w": True}
    return [
        change("d", xid, order, wal, before=old, headers='{"__debezium.newkey": {"k": 2}}'),
        TOMBSTONE,
        change("c", xid, order + 1, wal, after=new, headers='{"__debezium.oldkey": {"k": 1}}'),
    ]


UNAVAILABLE = "__debezium_unavailable_value"


@pytest.fixture(scope="module")
def hostile() -> list[Event]:
    """A small log of everything that is special; transaction 7 comes three times."""
    encoded = base64.b64encode(UNAVAILABLE.encode()).decode()
    return arrive([
        snapshot_row(1, 70000, "first"), snapshot_row(2, 70000),  # an attempt that was given up
        snapshot_row(1, 71000, "first"), snapshot_row(3, 71000), snapshot_row(4, 71000, "last"),
        status("BEGIN", "7", 80000),
        change("c", "7", 1, 80000, after={"k": 1, "v": "a", "w": UNAVAILABLE}),
        change("t", "7", 2, 80008),
        change("m", "7", 3, 80016),
        *key_change("7", 4, 80024),
        change("c", "7", 6, 80024, after={"k": 9, "v": UNAVAILABLE.encode().hex(), "w": encoded}),
        status("END", "7", 80800, 6),
        status("BEGIN", "8", 80900), status("END", "8", 80904, 0),  # empty
        change("u", "9", 1, 80040, before={"k": 1}, after={"k": 1, "n": None, "d": None}),
        change("c", "7", 1, 81000, after={"k": 5}),  # the id is used again, without a BEGIN
        status("END", "7", 81800, 1),
        status("END", "9", 82800, 1),
        change("d", "7", 1, 82900, before={"k": 5}),
        change("d", "7", 2, 82908, before={"k": 6}),
        status("END", "7", 83000, 2),
    ])  # fmt: skip


# --- whole logs -----------------------------------------------------------------------------------


@needs_data
@pytest.mark.parametrize("encoding", ["debezium", "debezium_schemas"])
def test_real_log(read, encoding):
    events = landed_events(DATA / "postgres" / encoding / "all.jsonl.gz")
    assert read(events) == expected(events)


def test_transactions_of_a_hostile_log(read, hostile):
    log = read(hostile)
    assert log == expected(hostile)
    assert [
        (row[1], row[2], (int(row[0], 16) >> 24, int(row[0], 16) & 0xFFFFFF)) for row in log
    ] == [
        ("snapshot", "BEGIN", (0, 1)),
        ("snapshot", "INSERT", (0, 2)),
        ("snapshot", "INSERT", (0, 3)),
        ("snapshot", "INSERT", (0, 4)),
        ("snapshot", "COMMIT", (65536, 0)),
        ("7", "BEGIN", (65536, 1)),
        ("7", "INSERT", (65536, 2)),
        ("7", "TRUNCATE", (65536, 3)),
        ("7", "UPDATE", (65536, 6)),
        ("7", "INSERT", (65536, 7)),
        ("7", "COMMIT", (80800, 0)),
        ("8", "BEGIN", (80800, 1)),
        ("8", "COMMIT", (80904, 0)),
        ("7", "BEGIN", (80904, 1)),
        ("7", "INSERT", (80904, 2)),
        ("7", "COMMIT", (81800, 0)),
        ("9", "BEGIN", (81800, 1)),
        ("9", "UPDATE", (81800, 2)),
        ("9", "COMMIT", (82800, 0)),
        ("7", "BEGIN", (82800, 1)),
        ("7", "DELETE", (82800, 2)),
        ("7", "DELETE", (82800, 3)),
        ("7", "COMMIT", (83000, 0)),
    ]
    moved = next(row for row in log if row[2] == "UPDATE")
    assert json.loads(moved[6]) == {"k": 1, "v": "large", "w": None}
    assert json.loads(moved[7]) == {"k": 2, "v": "large", "w": True}
    at = {row[2]: row[3] for row in log if row[1] == "9"}
    assert at["COMMIT"] == at["BEGIN"] == datetime(1970, 1, 1, 0, 0, 9, 9)


def test_repeated_and_reordered_events_change_nothing(read, hostile):
    whole, rng = expected(hostile), random.Random(4)
    topics = sorted(hostile, key=lambda e: e.topic)
    assert read(arrive(reversed(topics[5:]))) == expected(hostile[5:])
    for _ in range(2):
        repeated = [copy for event in hostile for copy in [event] * rng.choice((1, 1, 2))]
        start = rng.randrange(5, len(hostile))
        assert read(arrive(repeated + hostile[start - 5 : start])) == whole


def test_incomplete_transaction_waits_with_all_later_ones(read, hostile):
    waiting = [e for e in hostile if '"op": "t"' not in (e.value or "")]
    assert (
        [row[1] for row in read(waiting)] == ["snapshot"] * 5 == [r[1] for r in expected(waiting)]
    )
    assert read(hostile[:4]) == []


# --- batches --------------------------------------------------------------------------------------


def cut(events: list[Event], borders: Iterable[int]) -> list[list[Event]]:
    return [events[low:high] for low, high in pairwise([0, *sorted(borders), len(events)])]


@pytest.mark.soak
def test_batches_of_a_hostile_log(run_batches, hostile):
    """Borders inside the snapshot, a transaction and a key change; events that come again."""
    events = arrive([*hostile[:13], *hostile[4:14], *hostile[14:19], hostile[6], *hostile[19:]])
    log = run_batches(cut(events, (4, 10, 25)))
    assert log == expected(hostile)


@needs_data
@pytest.mark.soak
def test_batches_of_the_real_log(run_batches):
    rng = random.Random(7)
    events = landed_events(DATA / "postgres" / "debezium" / "all.jsonl.gz")[:800]
    moved = next(n for n, e in enumerate(events) if e.headers)
    late = sorted(events[400:], key=lambda e: e.position + 30 * (e.topic == "pg.transaction"))
    arrived = events[:400] + late
    arrived = arrive([*arrived[:700], *arrived[600:750:3], *arrived[700:]])
    log = run_batches(cut(arrived, (moved + 1, rng.randrange(400, 700), 705)))
    assert log == expected(events)


# --- values ---------------------------------------------------------------------------------------


def unscaled(number: int) -> str:
    return base64.b64encode(
        number.to_bytes((number + (number < 0)).bit_length() // 8 + 1, "big", signed=True)
    ).decode()


def test_values_by_types(read):
    largest = 10**38 - 1
    numbers = [largest, -largest, 0, 1, -1, -128, 2**63, -(2**63) - 1, 2**64, -(2**64), 2**120]
    rows = [{"d": unscaled(n), "n": unscaled(n)} for n in numbers]
    times = [0, -1, 1, 1795252512226769, -62135596800000000, 253402300799999999]
    rows += [{"us": us, "ms": us // 1000, "day": us // 86_400_000_000} for us in times]
    texts = ["2008-08-07T14:11:06Z", "2008-08-07T14:11:06.5", "2008-08-07T14:11:06.1234567+02:00"]
    rows += [{"us": text, "day": "1947-10-16Z"} for text in texts]
    rows += [{"x": 9007199254740993, "y": -0.0, "z": 0.1, "u": "\u0001é", "b": False}]
    rows += [{"hex": (b"\0\xff" * 60).hex()}]
    events = [change("c", "7", n, 80000 + n, after=row) for n, row in enumerate(rows, start=1)]
    events = arrive([*events, status("END", "7", 90000, len(events))])
    log = read(events)
    images = [json.loads(row[7]) for row in log if row[7]]
    assert base64.b64decode(images[-1]["hex"]) == b"\0\xff" * 60
    assert log[:-2] == expected(events)[:-2]
    assert [int(image["n"]) for image in images[: len(numbers)]] == numbers
    assert images[0]["d"] == "9" * 29 + "." + "9" * 9 and images[4]["d"] == "-0.000000001"


def test_values_by_schema(read):
    """Encodings that the real log does not have."""
    values = {
        "p": ("int32", "io.debezium.time.Date", -719162),
        "q": ("int64", "io.debezium.time.Timestamp", -1),
        "r": ("int64", "io.debezium.time.NanoTimestamp", -1),
        "s": ("int64", "org.apache.kafka.connect.data.Timestamp", 1795252512226),
        "v": ("struct", "io.debezium.data.VariableScaleDecimal", {"scale": 3, "value": "/w=="}),
        "d": ("string", None, "-1.5E-7"),
        "hex": ("string", None, "00ff"),
        "raw": ("bytes", None, "AP8="),
    }
    fields = [
        {"field": name, "type": kind, **({"name": schema} if schema else {})}
        for name, (kind, schema, _) in values.items()
    ]
    decimal = {"name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}}
    fields.append({"field": "c", "type": "bytes", **decimal})
    row = {name: value for name, (_, _, value) in values.items()} | {"c": "/w=="}
    payload = json.loads(change("c", "7", 1, 80000, after=row).value)
    schema = {"fields": [{"field": "after", "fields": fields}]}
    text = json.dumps({"schema": schema, "payload": payload})
    events = arrive([Event(0, "pg.public.t", None, text), status("END", "7", 90000, 1)])
    log = read(events)
    types = {"public.t": {"d": "decimal(38,9)", "hex": "binary"}}
    assert log == canonical(read_log(events, types).records)
    assert json.loads(log[1][7]) == {
        "p": "0001-01-01",
        "q": "1969-12-31T23:59:59.999000",
        "r": "1969-12-31T23:59:59.999999",
        "s": "2026-11-21T09:15:12.226000",
        "v": "-0.001",
        "d": "-0.00000015",
        "hex": "AP8=",
        "raw": "AP8=",
        "c": "-0.01",
    }


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ('{"op": "c", "source": {"lsn": 1}}', "provide.transaction.metadata=true"),
        ('{"op": "c", "source"', "not readable JSON"),
        ('{"id": 1}', "no Debezium change event"),
        ('{"op": "c", "source": {"connector": "mysql"}}', "connector mysql"),
        (change("c", "7", 1, 80000, after={"n": "12.50"}).value, "column n, event at position 1"),
        (change("c", "7", 1, 80000, after={"hex": "xyz"}).value, "the value xyz"),
    ],
)
def test_events_that_can_not_be_read(read, value, message):
    with pytest.raises(Exception, match="CDC 22859") as error:
        read(arrive([Event(0, "topic", None, value), status("END", "7", 90000, 1)]))
    assert message in str(error.value)


def test_arguments_are_checked(make_project):
    wrong = {
        "connector": ("connector='oracle'", "supported: 'postgresql'"),
        "encoding": ("types={'public.t': {'a': 'money'}}", "allowed: decimal(p,s), date"),
        "tables": ("types={'t': {'a': 'date'}}", "'schema.table'"),
        "before": ("before_images={'public.t': 'all'}", "allowed: 'key'"),
    }
    project = make_project(models={"sources.yml": SOURCE})
    for arguments, message in wrong.values():
        body = f"{{{{ dbt_cdc.debezium_log(source('kafka', 'landed'), {arguments}) }}}}"
        project.write("models/log.sql", body)
        result = project.dbt("parse")
        assert not result.success and message in result.output


def test_declared_binary_columns_are_read_as_hex(make_project):
    """Without `types` the YAML of the capture instances tells which texts are binaries."""
    instance = """models:
  - name: public_t_ct
    config: {meta: {cdc: {source_schema: public, source_name: t}}}
    columns: [{name: raw, data_type: binary}, {name: text, data_type: string}]"""
    models = {
        "log.sql": "{{ dbt_cdc.debezium_log(source('kafka', 'landed')) }}",
        "sources.yml": SOURCE,
        "public_t_ct.sql": "select 1 as raw, 2 as text",
        "public_t_ct.yml": instance,
    }
    project = make_project(models=models)
    project.ok("compile", "--select", "log")
    path = project.folder / f"target/compiled/{project.name}/models/log.sql"
    assert "in ('public.t.raw') then 'hex'" in path.read_text(encoding="utf-8")
