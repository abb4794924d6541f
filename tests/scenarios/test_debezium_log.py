"""The Debezium adapter against its plain-Python twin: whole logs, batches, repeated, late events.

Most cases run the model's compiled SQL on their own events; dbt itself runs the incremental ones.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from capturing import instance_yaml
from harness import Project
from pyspark.sql import Row, SparkSession
from reference.capture import CaptureInstance
from reference.debezium import Event, read_log
from reference.log import LogRecord
from reference.truth import data_dir, landed_events

pytestmark = pytest.mark.slow

DATA = data_dir()
LANDED = "position bigint, topic string, key string, value string, headers string"
COLUMNS = (
    "lsn", "tran_id", "operation", "record_time", "source_schema", "source_name", "before_image",
    "after_image", "ddl_command", "command_id",
)  # fmt: skip
TYPES = {"public.t": {"d": "decimal(38,9)"}}
BEFORE_IMAGES = {"public.docs": "key"}
MODEL = """{{{{ config(materialized='{materialized}', file_format='delta') }}}}
{{{{ dbt_cdc.debezium_log(
    source('kafka', 'landed'), types=var('types'), before_images=var('before_images')
) }}}}"""
OWN = """{{ dbt_cdc.debezium_log(
    source('kafka', 'landed'), unavailable_value_placeholder='<*>.?'
) }}"""
SOURCE = "sources: [{name: kafka, schema: '{{ target.schema }}', tables: [{name: landed}]}]"
TABLE = CaptureInstance(
    "public", "t", "public_t", (("k", "int"), ("v", "string"), ("w", "boolean")), ("k",)
)
Log = list[tuple[Any, ...]]


# --- how logs are made and compared ---------------------------------------------------------------


def canonical(records: Iterable[LogRecord | Row]) -> Log:
    """The canonical columns in LSN order; JSON is compared by its content."""
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
    """The twin's log, with images as the events have them."""
    return canonical(read_log(events, TYPES, BEFORE_IMAGES, raw=True).records)


def arrive(events: Iterable[Event | None]) -> list[Event]:
    """The events with positions in their order."""
    return [replace(event, position=n) for n, event in enumerate(events, start=1) if event]


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    models = {
        "log_view.sql": MODEL.format(materialized="view"),
        "log_own.sql": OWN,
        "log_batches.sql": MODEL.format(materialized="incremental"),
        "sources.yml": SOURCE,
        "public_t_ct.sql": "{{ dbt_cdc.change_table() }}",
        "instances.yml": instance_yaml([TABLE]),
    }
    variables = {"types": TYPES, "before_images": BEFORE_IMAGES, "cdc_log_model": "log_batches"}
    return make_project(models=models, vars=variables)


@pytest.fixture(scope="module")
def read(project: Project, spark: SparkSession) -> Callable[[Iterable[Event]], Log]:
    """The adapter's log of events, by the SQL that dbt compiles."""
    project.ok("compile", "--select", "log_view", "log_own")
    folder = project.folder / f"target/compiled/{project.name}/models"

    def run(events: Iterable[Event], model: str = "log_view") -> Log:
        query = (folder / f"{model}.sql").read_text(encoding="utf-8")
        query = query.replace(f"{project.schema}.landed", "landed_events")
        rows = [(e.position, e.topic, e.key, e.value, e.headers) for e in events]
        spark.createDataFrame(rows, LANDED).createOrReplaceTempView("landed_events")
        return canonical(spark.sql(query).collect())

    return run


@pytest.fixture
def land(project: Project, spark: SparkSession) -> Callable[[list[Event]], None]:
    """Lands one more batch of events."""

    def write(batch: list[Event]) -> None:
        rows = [(e.position, e.topic, e.key, e.value, e.headers) for e in batch]
        landed = spark.createDataFrame(rows, LANDED).coalesce(1).write.format("delta")
        landed.mode("append").saveAsTable(f"{project.schema}.landed")

    return write


@pytest.fixture
def run_batches(
    project: Project, land: Callable[[list[Event]], None]
) -> Callable[[list[list[Event]]], Log]:
    """The log of an incremental model, one dbt run after each batch of landed events."""

    def run(batches: list[list[Event]]) -> Log:
        project.clear()
        for batch in batches:
            land(batch)
            project.ok("run", "--select", "log_batches")
        return canonical(project.table("log_batches").collect())

    return run


def change(op: str, xid: str, order: int, wal: int, /, table: str = "t", **more: Any) -> Event:
    """A data event; all of a transaction tell its commit time."""
    source = {"schema": "public", "table": table, "lsn": wal, "snapshot": "false"}
    source["ts_us"] = int(xid) * 1_000_001
    transaction = {"id": f"{xid}:{wal}", "total_order": order}
    headers = more.pop("headers", None)
    value = {"op": op, "source": source, "transaction": transaction, "before": None, **more}
    key = more.pop("key", None)
    return Event(0, f"pg.public.{table}", key, json.dumps(value), headers)


def snapshot_row(number: int, wal: int, mark: str = "true") -> Event:
    source = {"schema": "public", "table": "t", "lsn": wal, "ts_us": wal, "snapshot": mark}
    value = {"op": "r", "after": {"k": number}, "source": source, "transaction": None}
    return Event(0, "pg.public.t", json.dumps({"k": number}), json.dumps(value))


def status(word: str, xid: str, wal: int, count: int | None = None) -> Event:
    value = {"status": word, "id": f"{xid}:{wal}", "event_count": count, "ts_ms": wal}
    return Event(0, "pg.transaction", None, json.dumps(value))


TOMBSTONE = Event(0, "pg.public.t", '{"k": 1}', None)


def key_change(xid: str, order: int, wal: int) -> list[Event]:
    """Delete, tombstone, create; the large value `v` did not change and was not logged. Headers say
    so, where they have landed."""
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
        change("c", "7", 1, 80000, after={"k": 1, "v": "a"}),
        change("t", "7", 2, 80008),
        change("m", "7", 3, 80016),
        *key_change("7", 4, 80024),
        change("u", "7", 6, 80032, after={"k": 9, "v": UNAVAILABLE.encode().hex(), "w": encoded}),
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


@pytest.mark.parametrize(
    "encoding", ["debezium", pytest.param("debezium_schemas", marks=pytest.mark.more)]
)
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
        ("7", "UPDATE", (65536, 7)),
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
    assert json.loads(moved[7]) == {"k": 2, "w": True}  # v: unchanged
    at = {row[2]: row[3] for row in log if row[1] == "9"}
    assert at["COMMIT"] == at["BEGIN"] == datetime(1970, 1, 1, 0, 0, 9, 9)


@pytest.mark.more
def test_a_key_change_without_headers(read, hostile):
    """PostgreSQL logs it as one record. A row that is inserted has all its values."""
    without = [replace(event, headers=None) for event in hostile]
    assert read(without) == expected(hostile) == expected(without)
    half = [
        change("c", "7", 1, 80024, after={"k": 2, "v": UNAVAILABLE}),
        status("END", "7", 80800, 1),
    ]
    with pytest.raises(Exception, match=r"event number 1 creates a row of public\.t without a"):
        read(arrive(half))


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


@pytest.mark.more
def test_heartbeats_are_passed_over_in_any_topic(read, hostile):
    """As the connector lands them: with and without schema, by a prefix of one's own, in one topic
    with all others."""
    beat = {"ts_ms": 1}
    with_schema = {"schema": {"type": "struct", "fields": [{"field": "ts_ms"}]}, "payload": beat}
    beats = [
        Event(0, topic, '{"serverName": "pg"}', json.dumps(value))
        for topic in ("__debezium-heartbeat.pg", "beats.pg", "all")
        for value in (beat, with_schema)
    ]
    assert read(arrive([*beats, *hostile[:9], *beats, *hostile[9:], *beats])) == expected(hostile)
    assert read(arrive(beats)) == []


# --- batches --------------------------------------------------------------------------------------


@pytest.mark.more
def test_events_are_shuffled_once(project, spark, land):
    """Also where some are of a transaction that is in the log. What a step takes only some columns
    of Spark shuffles anew."""
    first, second = (
        [change("c", xid, 1, wal + 1, after={"k": wal}), status("END", xid, wal + 9, 1)]
        for xid, wal in (("7", 80000), ("8", 90000))
    )
    project.clear()
    shuffles = []
    for batch in (arrive(first), arrive([*first, *first, *second])[2:]):
        land(batch)
        project.ok("compile", "--select", "log_batches")
        path = project.folder / f"target/compiled/{project.name}/models/log_batches.sql"
        plan = spark.sql(f"explain {path.read_text(encoding='utf-8')}").collect()[0][0]
        made = [line for line in plan.splitlines() if "Reused" not in line]
        shuffles.append(re.findall("REPARTITION_BY_COL|REBALANCE", "\n".join(made)))
        project.ok("run", "--select", "log_batches")
    assert shuffles == [["REPARTITION_BY_COL"], ["REPARTITION_BY_COL"]]
    assert project.table("log_batches").count() == 6


def cut(events: list[Event], borders: Iterable[int]) -> list[list[Event]]:
    return [events[low:high] for low, high in pairwise([0, *sorted(borders), len(events)])]


@pytest.mark.soak
def test_batches_of_a_hostile_log(run_batches, hostile):
    """Borders inside the snapshot, a transaction and a key change; events that come again."""
    events = arrive([*hostile[:13], *hostile[4:14], *hostile[14:19], hostile[6], *hostile[19:]])
    log = run_batches(cut(events, (4, 10, 25)))
    assert log == expected(hostile)


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


INSERTED = [
    status("BEGIN", "7", 80000),
    change("c", "7", 1, 80000, after={"k": 7}),
    status("END", "7", 80800, 1),
]


@pytest.mark.more
@pytest.mark.parametrize(
    "first",
    [[snapshot_row(1, 71000, "first"), *INSERTED], [snapshot_row(1, 71000, "last")]],
    ids=["a transaction", "the last row"],
)
def test_rows_of_the_snapshot_that_land_too_late(project, land, run_batches, first):
    """They stop the log, until they are given up or the log is written anew, with all of them."""
    run = ["run", "--select", "log_batches"]
    events = arrive([*first, snapshot_row(2, 71000), snapshot_row(3, 71000)])
    log = run_batches([events[:-2]])
    assert log == expected(events[:-2])
    land(events[-2:])
    for _ in range(2):
        result = project.dbt(*run)
        assert not result.success
        assert "CDC 22859: rows of the snapshot landed when the log was past it" in result.output
        assert "it lacks them: public.t (2): land the whole snapshot before" in result.output
        assert "dbt run --full-refresh --select log_batches" in result.output
    given_up = json.dumps({"cdc_give_up_transactions": ["snapshot"]})
    project.ok(*run, "--vars", given_up)
    assert canonical(project.table("log_batches").collect()) == log
    project.ok(*run, "--full-refresh")
    whole = canonical(project.table("log_batches").collect())
    assert whole == expected(events) and len(whole) == len(log) + 2


@pytest.mark.more
def test_rows_of_a_snapshot_that_are_no_news(run_batches):
    """Those that land again."""
    first = arrive([snapshot_row(1, 71000, "first"), snapshot_row(2, 71000), *INSERTED])
    again = [snapshot_row(2, 71000), snapshot_row(1, 71000)]
    assert run_batches([first, arrive([*first, *again])[len(first) :]]) == expected(first)


@pytest.mark.more
def test_what_waits_is_said_and_can_be_given_up(project, spark, run_batches, hostile):
    """Transaction 7 lacks its TRUNCATE: all later ones wait until it comes, or it is given up."""
    missing = next(e for e in hostile if '"op": "t"' in (e.value or ""))
    log = run_batches([[e for e in hostile if e is not missing]])
    assert {row[1] for row in log} == {"snapshot"}
    said = project.ok("run", "--select", "log_batches").output
    assert "transaction 7:80800 waits since 1970-01-01 00:01:20" in said
    assert "5 of 6 events have landed, and with it 4 later ones" in said
    waiting = project.sql("select * from {schema}.waiting_transactions order by commit_lsn")
    assert [row.tran_id for row in waiting] == [
        "7:80800",
        "8:80904",
        "7:81800",
        "9:82800",
        "7:83000",
    ]
    assert [row.waiting_commits for row in waiting] == [4, 3, 2, 1, 0]
    scan = ["log_batches", "scan_transactions", "dm_cdc_log_scan_sessions"]
    # a command of its own for each model, as schedulers have it
    project.ok("run", "--select", *scan[1:])
    shown = project.sql(
        "select * from {schema}.dm_cdc_log_scan_sessions where end_time is not null"
    )
    assert len(shown) == 2  # the session and the aggregate
    assert {row.waiting_for.partition(":80800 ")[2].partition(" since")[0] for row in shown} == {
        "waits"
    }
    test = ["test", "--select", "waiting_transactions"]
    assert "Got 5 results" in project.dbt(*test).output
    variables = json.dumps({"cdc_give_up_transactions": ["7:80800"]})
    said = project.ok("run", "--select", "log_batches", "--vars", variables).output
    assert "waits" not in said
    found = canonical(project.table("log_batches").collect())
    given_up = {e.position for e in hostile if '"id": "7:80' in (e.value or "")}
    without = expected(e for e in hostile if e.position not in given_up)
    assert found == without
    project.ok(*test)
    project.ok("run", "--select", *scan)
    shown = project.sql("select * from {schema}.dm_cdc_log_scan_sessions where session_id = 0")
    assert [row.waiting_for for row in shown] == [None]
    assert not project.dbt(
        "run", "--select", "log_batches", "--vars", '{"cdc_give_up_transactions": "x"}'
    ).success
    (error,) = project.sql("select * from {schema}.dm_cdc_errors")
    assert "cdc_give_up_transactions" in error.error_message
    assert project.sql("select * from {schema}.scan_sessions where error_count = 1")
    assert canonical(project.table("log_batches").collect()) == without


# --- values ---------------------------------------------------------------------------------------


def test_images_stay_as_they_are(read):
    """Numbers that a double holds, control characters, nested values, other orders and spaces."""
    rows = [
        {"x": 9007199254740993, "y": -0.0, "z": 0.1, "u": "\u0001é\\", "b": False, "n": None},
        {"point": {"x": 1.5, "wkb": "AQ=="}, "list": ["a", "b,c", None], "after": {"source": 1}},
        {"z": 0.8474337369372327, "tiny": 5e-05, "text": "is:0.12345678901234567890123"},
    ]
    events = [change("c", "7", n, 80000 + n, after=row) for n, row in enumerate(rows, start=1)]
    events = arrive([*events, status("END", "7", 90000, len(events))])
    log = read(events)
    assert log == expected(events)
    assert [json.loads(row[7]) for row in log if row[7]] == rows


def encoded(octets: bytes) -> str:
    return base64.b64encode(octets).decode()


@pytest.mark.more
@pytest.mark.parametrize(
    ("model", "text", "uuid"),
    [
        ("log_view", UNAVAILABLE, "b68a35a7-17ad-35b3-af2a-ae46edb4545a"),
        ("log_own", "<*>.?", str(UUID(bytes=hashlib.md5(b"<*>.?").digest(), version=3))),
    ],
)
def test_what_was_not_logged_is_left_out(read, model, text, uuid):
    """First, last, only and neighbouring members in each spelling; texts that only look alike."""
    octets = text.encode()
    spellings = [
        text, encoded(octets), octets.hex(), [text], [encoded(octets)], [uuid], list(octets),
        [float(n) for n in octets], [str(n) for n in octets],
        [{"scale": 0, "value": encoded(bytes([n]))} for n in octets],
        {text: text}, json.dumps({text: text}, separators=(",", ":")),
        {"wkb": "AQEAACDmEAAAAAAA/IPXl8EAAAD8g9eXwQ==", "srid": 4326},
    ]  # fmt: skip
    rows, kept = [], []
    for value in spellings:
        for names in ("a", "b", "c", "ab", "bc", "ac", "abc"):
            image = {"a": '1","', "b": {"x": [1, "y"]}, "c": "\\"}
            rows.append({n: value if n in names else other for n, other in image.items()})
            kept.append({n: other for n, other in image.items() if n not in names})
    plain = {'k"': f'"{text}"', "l": [text, "x"], "m": f"{text}!", "n": [*octets[1:]]}
    rows, kept = [*rows, plain], [*kept, plain]
    events = [change("u", "7", n, 80000 + n, after=row) for n, row in enumerate(rows, start=1)]
    log = read(arrive([*events, status("END", "7", 90000, len(events))]), model)
    assert [json.loads(row[7]) for row in log if row[7]] == kept


def with_schema(event: Event, fields: list[dict[str, Any]]) -> Event:
    schema = {"fields": [{"field": "before"}, {"field": "after", "fields": fields}]}
    return replace(event, value=json.dumps({"schema": schema, "payload": json.loads(event.value)}))


def field(name: str, kind: str, schema: str | None = None, **more: Any) -> dict[str, Any]:
    return {"field": name, "type": kind, **({"name": schema} if schema else {}), **more}


CONNECT = "org.apache.kafka.connect.data"
BY_SCHEMA = {
    "p": ("date", field("p", "int32", "io.debezium.time.Date"), -354285),
    "q": ("timestamp", field("q", "int64", "io.debezium.time.Timestamp"), -1),
    "r": ("timestamp", field("r", "int64", "io.debezium.time.NanoTimestamp"), -100),
    # SQL Server's last day and its third one, which 64 bits do not reach
    "w": ("timestamp", field("w", "int64", "io.debezium.time.NanoTimestamp"), -4852116231933722724),
    "x": ("timestamp", field("x", "int64", "io.debezium.time.NanoTimestamp"), -6795191778871345152),
    "s": ("timestamp", field("s", "int64", f"{CONNECT}.Timestamp"), 1795252512226),
    "t": ("bigint", field("t", "int32", "io.debezium.time.Time"), 3723004),
    "ms": ("int", field("ms", "int32", "io.debezium.time.Time"), 3723004),
    "i": ("timestamp", field("i", "string", "io.debezium.time.IsoTimestamp"),
        "2008-08-07T14:11:06Z"),
    "v": ("decimal(9,3)", field("v", "struct", "io.debezium.data.VariableScaleDecimal"),
        {"scale": 3, "value": "/w=="}),
    "d": ("decimal(38,9)", field("d", "string"), "-1.5E-7"),
    "hex": ("binary", field("hex", "string"), "00ff"),
    "raw": ("binary", field("raw", "bytes"), "AP8="),
    "c": ("decimal(9,4)", field("c", "bytes", f"{CONNECT}.Decimal", parameters={"scale": "2"}),
        "/w=="),
}  # fmt: skip
MIXED = """models:
  - name: public_t_ct
    config: {meta: {cdc: {source_schema: public, source_name: t, index_columns: [p]}}}
    columns: """


@pytest.mark.more
def test_values_by_schema(make_project, spark):
    """The events' own schemas decide, also where they change inside a window or are not there."""
    columns = [{"name": name, "data_type": kind} for name, (kind, _, _) in BY_SCHEMA.items()]
    project = make_project(
        models={
            "sources.yml": SOURCE,
            "log.sql": MODEL.format(materialized="view"),
            "public_t_ct.sql": "{{ dbt_cdc.change_table() }}",
            "public_t_ct.yml": MIXED + json.dumps(columns),
        },
        vars={"types": TYPES, "before_images": {}, "cdc_log_model": "log"},
    )
    project.clear()
    row = {name: value for name, (_, _, value) in BY_SCHEMA.items()}
    fields = [schema for _, schema, _ in BY_SCHEMA.values()]
    texts = [
        field(f["field"], "string")
        if f["field"] == "c"
        else field("q", "int64", "io.debezium.time.MicroTimestamp")
        if f["field"] == "q"
        else field(f["field"], "int64", "io.debezium.time.MicroTime")
        if f["field"] in ("t", "ms")
        else f
        for f in fields
    ]
    plain = {"p": "1000-01-02", "q": "1970-01-01T00:00:00Z", "c": 12.5, "raw": "AP8="}
    events = [
        with_schema(change("c", "7", 1, 80001, after=row), fields),
        with_schema(
            change(
                "c",
                "7",
                2,
                80002,
                after=row
                | {
                    "p": 0,
                    "q": 1795252512226769,
                    "c": "7.25",
                    "t": 3723004005,
                    "ms": 3723004000,
                },
            ),
            texts,
        ),
        change("c", "7", 3, 80003, after=plain),
        status("END", "7", 90000, 3),
    ]
    landed = [(e.position, e.topic, e.key, e.value, e.headers) for e in arrive(events)]
    spark.createDataFrame(landed, LANDED).write.format("delta").saveAsTable(
        f"{project.schema}.landed"
    )
    project.ok("run")
    rows = project.sql(
        f"select {', '.join(BY_SCHEMA)} from {{schema}}.public_t_ct order by `__$seqval`"
    )
    first = {
        "p": date(1000, 1, 1),
        "q": datetime(1969, 12, 31, 23, 59, 59, 999000),
        "r": datetime(1969, 12, 31, 23, 59, 59, 999999),
        "w": datetime(9999, 12, 31, 23, 59, 59, 999999),
        "x": datetime(1, 1, 3),
        "s": datetime(2026, 11, 21, 9, 15, 12, 226000),
        "t": 3723004000,
        "ms": 3723004,
        "i": datetime(2008, 8, 7, 14, 11, 6),
        "v": Decimal("-0.001"),
        "d": Decimal("-0.00000015"),
        "hex": b"\0\xff",
        "raw": b"\0\xff",
        "c": Decimal("-0.01"),
    }
    second = {
        "p": date(1970, 1, 1),
        "q": datetime(2026, 11, 21, 9, 15, 12, 226769),
        "c": Decimal("7.25"),
        "t": 3723004005,
    }
    third = dict.fromkeys(first) | {
        "p": date(1000, 1, 2), "q": datetime(1970, 1, 1), "c": Decimal("12.5"),
        "raw": b"\0\xff",
    }  # fmt: skip
    assert [found.asDict() for found in rows] == [first, first | second, third]


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ('{"op": "c", "source": {"lsn": 1}}', "provide.transaction.metadata=true"),
        (
            change("u", "7", 1, 80000, before={"id": 1, "v": "x"}, after={"id": 1}).value,
            "what has decoded it leaves NULLs out",
        ),
        (
            '{"schema": {"fields": []}, "payload": '
            + change("u", "7", 1, 80000, before={"id": 1, "v": "x"}, after={"id": 1}).value
            + "}",
            "what has decoded it leaves NULLs out",
        ),
        (
            change("u", "7", 1, 80000, after={"id": 1}).value.replace('"before": null, ', ""),
            "what has decoded it leaves NULLs out",
        ),
        ('{"op": "c", "source"', "not readable JSON"),
        ('{"ts_ms": 1}{"ts_ms": 2}', "not readable JSON, or more than one"),
        ('{"id": 1}', "no Debezium change event"),
        ('{"ts_ms": 1, "v": 2}', "no Debezium change event"),
        (
            '{"op": "c", "source": {"connector": "mysql"}}',
            "CDC 22988: event at position 1 of topic topic comes from the connector mysql: debez",
        ),
        (
            change("c", "7", 1, 80000, after={"n": 1}).value.replace(
                "1}", "12345678901234567890.5}"
            ),
            "event at position 1 of topic topic: a number has more digits than a double",
        ),
    ],
)
def test_events_that_can_not_be_read(read, value, message):
    with pytest.raises(Exception, match=r"CDC 22(859|988)") as error:
        read(arrive([Event(0, "topic", None, value), status("END", "7", 90000, 1)]))
    assert message in str(error.value)


def test_doubles_are_read_whoever_spells_them(read):
    """A landing that writes JSON anew gives small ones no exponent; none lacks a digit."""
    rng = random.Random(1)
    doubles = [rng.random() * 10.0 ** rng.randrange(-12, 12) for _ in range(300)]
    texts = [f"{Decimal(repr(double)):f}" for double in doubles]
    event = change("c", "7", 1, 80000, after={"n": 1})
    event = replace(event, value=event.value.replace("1}}", f"[{', '.join(texts)}]}}}}"))
    assert texts[0] in event.value
    found = read(arrive([event, status("END", "7", 90000, 1)]))
    images = [json.loads(image) for row in found for image in row if str(image).startswith('{"n"')]
    assert images == [{"n": doubles}]


@pytest.mark.more
def test_an_event_without_a_position(read):
    """As a line that was cut, where a landing of one's own lets it through (test_landing: ours)."""
    row = replace(change("c", "7", 1, 80000, after={"n": 1}), position=None, value=None)
    text = r"CDC 22859: .* an event in \S+: it has no position, .* where position is null, which"
    with pytest.raises(Exception, match=text):
        read([row, *arrive([status("END", "7", 90000, 1)])])


@pytest.mark.more
def test_arguments_are_checked(make_project):
    wrong = {
        "encoding": ("types={'public.t': {'a': 'money'}}", "one of decimal(p,s), decimal"),
        "tables": (
            "types={'t': {'a': 'date'}}",
            "names 't': tables are named 'schema.table'",
        ),
        "list": ("types=['public.t']", "types is '['public.t']': give a dictionary by table names"),
        "columns": ("types={'public.t': 'date'}", "types['public.t'] is 'date': give column names"),
        "before": ("before_images={'public.t': 'all'}", "is 'all': give 'key', or leave a table"),
        "placeholder": ("unavailable_value_placeholder=''", "is '': give the connector's unava"),
        "octets": ("unavailable_value_placeholder='hex:22ff'", "is 'hex:22ff': give the connector"),
    }
    project = make_project(models={"sources.yml": SOURCE})
    for arguments, message in wrong.values():
        body = f"{{{{ dbt_cdc.debezium_log(source('kafka', 'landed'), {arguments}) }}}}"
        project.write("models/log.sql", body)
        result = project.dbt("parse")
        assert not result.success and message in result.output
        assert "CDC 22963: " in result.output
