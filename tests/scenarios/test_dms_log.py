"""AWS DMS's files, Qlik Replicate's change tables and the streams of both as a log."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from harness import DbtResult, Project
from reference.log import int_to_lsn
from reference.source import Database, rows_by_the_log
from reference.task import (
    DMS,
    LANDED,
    QLIK,
    Message,
    Task,
    dms_message,
    messages,
    qlik_message,
    texts,
)

pytestmark = pytest.mark.slow
KEYED, KEYLESS = "dbo.orders", "dbo.notes"
MORE = pytest.mark.more


class Landed:
    """A project whose log is made of a task's rows."""

    def __init__(self, project: Project) -> None:
        self.project = project

    def start(self, headers: dict[str, str]) -> None:
        self.headers = headers
        self.project.clear()
        for table in ("orders", "notes"):
            columns = ", ".join(f"`{name}` {kind}" for name, kind in headers.items())
            self.project.sql(f"drop table if exists {{schema}}.landed_{table}")
            self.project.sql(
                f"create table {{schema}}.landed_{table} ({columns}, {LANDED}) using delta"
            )

    def land(self, rows: list[tuple[str, tuple[Any, ...]]]) -> None:
        for table in ("orders", "notes"):
            landed = [row for name, row in rows if name == f"dbo.{table}"]
            if landed:
                name = f"{self.project.schema}.landed_{table}"
                columns = self.project.spark.table(name).schema
                frame = self.project.spark.createDataFrame(landed, columns)
                frame.write.insertInto(name)

    def run(self, rows: list[tuple[str, tuple[Any, ...]]] = (), **vars: Any) -> DbtResult:
        self.land(list(rows))
        return self.project.dbt("run", "--select", "shop_log", vars=vars)

    def sent(self, rows: list[Any]) -> list[Any]:
        """What lands of a task's rows."""
        return rows

    def records(self) -> list[Any]:
        return sorted(self.project.table("shop_log").collect(), key=lambda row: row.lsn)


class Streamed(Landed):
    """A project whose log is made of a task's messages."""

    engine, images = "qlik", "all"

    def start(self, headers: dict[str, str] = QLIK) -> None:
        self.position = 0
        self.project.clear()
        self.project.sql("drop table if exists {schema}.landed_messages")
        self.project.sql(
            "create table {schema}.landed_messages (position bigint, topic string, value string)"
            " using delta"
        )

    def sent(self, rows: list[Any]) -> list[Any]:
        return messages(rows, self.engine, self.images)

    def land(self, rows: list[Any]) -> None:
        """Rows of a task, or what has been sent of them."""
        sent = self.sent(rows) if rows and isinstance(rows[0][1], tuple) else rows
        if sent:
            numbered = [(self.position + n, *message) for n, message in enumerate(sent)]
            self.position += len(sent)
            name = f"{self.project.schema}.landed_messages"
            columns = self.project.spark.table(name).schema
            self.project.spark.createDataFrame(numbered, columns).write.insertInto(name)


TABLES = (
    "{'dbo.orders': source('dms', 'landed_orders'), 'dbo.notes': source('dms', 'landed_notes')}"
)
STREAM = "source('dms', 'landed_messages')"


def log_model(events: str = TABLES, **arguments: Any) -> str:
    more = "".join(f", {name}={value!r}" for name, value in arguments.items())
    return (
        "{{ config(materialized='incremental', incremental_strategy='append',"
        f" file_format='delta') }}}}\n{{{{ dbt_cdc.dms_log({events}{more}) }}}}"
    )


SOURCES = {
    "version": 2,
    "sources": [
        {
            "name": "dms",
            "schema": "{{ target.schema }}",
            "tables": [{"name": f"landed_{name}"} for name in ("orders", "notes", "messages")],
        }
    ],
}


@pytest.fixture(scope="module")
def landed(make_project: Callable[..., Project]) -> Landed:
    models = {"shop_log.sql": log_model(), "sources.yml": json.dumps(SOURCES)}
    return Landed(make_project(models=models, vars={"cdc_log_model": "shop_log"}))


@pytest.fixture(scope="module")
def streamed(make_project: Callable[..., Project]) -> Streamed:
    models = {"shop_log.sql": log_model(STREAM), "sources.yml": json.dumps(SOURCES)}
    return Streamed(make_project(models=models, vars={"cdc_log_model": "shop_log"}))


@pytest.fixture(params=["tables", pytest.param("qlik", marks=MORE), "dms"])
def way(request: pytest.FixtureRequest) -> Landed:
    """Qlik's tables, or a stream of either engine."""
    if request.param == "tables":
        return request.getfixturevalue("landed")
    streamed = request.getfixturevalue("streamed")
    streamed.engine = request.param
    return streamed


def shop(seed: int, steps: int) -> Database:
    """A database after random transactions over both tables; some change keys, some are large."""
    rng, database, key = random.Random(seed), Database([KEYED, KEYLESS], [KEYED]), 0
    for _ in range(steps):
        statements: list[tuple[Any, ...]] = []
        for _ in range(rng.choice([1, 1, 2, 5])):
            table = rng.choice([KEYED, KEYLESS])
            rows = database.tables[table]
            used = [s[2] for s in statements]
            free = [row for row in rows if row not in used]
            key += 1
            new = {"id": key, "text": rng.choice([None, "", "a", 'q"x', "ü"]), "n": rng.random()}
            verb = rng.choice(["insert", "insert", "update", "delete"])
            if verb == "insert" or not free:
                statements.append(("insert", table, new))
            elif verb == "delete":
                statements.append(("delete", table, rng.choice(free)))
            else:
                old = rng.choice(free)
                keeps_key = rng.random() < 0.7
                statements.append(
                    ("update", table, old, {**new, "id": old["id"] if keeps_key else key})
                )
        database.commit(*statements)
    return database


def as_texts(rows: list[str]) -> list[str]:
    return sorted(json.dumps(texts(json.loads(row)), sort_keys=True) for row in rows)


def is_consistent(landed: Landed, database: Database) -> int:
    """At each COMMIT both tables are as they were behind one transaction, a later one each time."""
    records, at = landed.records(), 0
    truths = {table: database.truths(table) for table in database.tables}
    if isinstance(landed, Streamed) and landed.engine == "qlik":
        truths = {table: [as_texts(rows) for rows in truths[table]] for table in truths}
    for commit in [row for row in records if row.operation == "COMMIT"]:
        until = [row for row in records if row.lsn < commit.lsn and row.operation != "COMMIT"]
        states = {table: rows_by_the_log(until, table.split(".")[1]) for table in database.tables}
        at = next(
            n
            for n in range(at, len(database.transactions) + 1)
            if all(truths[table][n] == state for table, state in states.items())
        )
    return at


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=MORE) for n in (1, 2))])
def test_whatever_a_task_writes(way: Landed, seed: int) -> None:
    """Hundredths with many transactions, transactions over many hundredths, copies, three runs."""
    rng, database = random.Random(seed), shop(seed, 60)
    task = Task(database, seed, pace=[1, 20, 5][seed], jitter=[2, 5, 0][seed])
    written = [task.rows(transaction) for transaction in database.transactions]
    way.start(QLIK)
    spans = [(rows[0][1][0][:16], rows[-1][1][0][:16]) for rows in written]
    written = [way.sent(rows) for rows in written]
    ends = [n for n in range(1, 60) if spans[n][0] > spans[n - 1][1]]
    for low, high in zip([0, *(cut := sorted(rng.sample(ends, 2)))], [*cut, 60], strict=True):
        rows = [row for part in written[low:high] for row in part]
        copies = rng.sample(rows, 3)
        rng.shuffle(rows)
        result = way.run(rows + copies)
        assert result.success, result.output
        is_consistent(way, database)
    assert is_consistent(way, database) == 60
    once = [tuple(row) for row in way.records()]
    assert way.run().success
    assert way.project.dbt("run", "--select", "shop_log", "--full-refresh").success
    assert [tuple(row) for row in way.records()] == once


def test_lsns_are_those_of_the_change_seq(landed: Landed) -> None:
    database = Database([KEYED, KEYLESS], [KEYED])
    database.commit(("insert", KEYED, {"id": 1, "text": "a", "n": 1.5}))
    landed.start(QLIK)
    rows = Task(database).rows(database.transactions[0])
    assert landed.run(rows).success
    insert, commit = landed.records()
    hundredths = database.transactions[0].micros // 10_000
    assert insert.lsn == int_to_lsn((hundredths << 40) + 1)
    assert commit.lsn == int_to_lsn((hundredths << 40) + 2**40 - 1)
    assert insert.tran_id == commit.tran_id == commit.lsn
    assert insert.record_time == commit.record_time
    assert json.loads(insert.after_image) == {"id": 1, "text": "a", "n": 1.5}


def qlik(seq: str, letter: str, id: int | None, text: str | None = "a") -> tuple[Any, ...]:
    return (seq, letter, seq[:16], id, text, 1.0)


def seq(second: int, number: int) -> str:
    return f"202607011200{second:02}00{number:019}"


def bad(rows: list[tuple[Any, ...]]) -> list[tuple[str, tuple[Any, ...]]]:
    return [(KEYED, row) for row in rows]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([qlik(seq(1, 1), "U", 1)], "the image before the update has not landed"),
        pytest.param([qlik(seq(1, 1), "B", 1)], "it has rows of BEFORE", marks=MORE),
        ([qlik(seq(1, 1), "I", 1), qlik(seq(1, 1), "I", 1, "b")], "it has rows of INSERT, INSERT"),
        pytest.param([qlik(seq(1, 1), "X", 1)], "its operation is X", marks=MORE),
        pytest.param(
            [qlik("20260701120001000000000000001", "I", 1)],
            "a change_seq has 35 digits",
            marks=MORE,
        ),
        pytest.param([qlik(f"20261301120001{1:021}", "I", 1)], "its time is none", marks=MORE),
        pytest.param(
            [qlik(f"2026070112000100{2**40:019}", "I", 1)],
            "its number is above 2^40 - 2",
            marks=MORE,
        ),
        ([qlik("", "U", 1)], "its operation is U"),
    ],
)
def test_a_row_that_is_none_stops_the_log(landed: Landed, rows: Any, says: str) -> None:
    landed.start(QLIK)
    result = landed.run(bad([*rows, qlik(seq(2, 9), "I", 9)]))
    assert not result.success
    assert "CDC 22859: bad log record of table dbo.orders, change_seq" in result.output
    assert says in result.output
    assert not landed.project.spark.catalog.tableExists(f"{landed.project.schema}.shop_log")


@pytest.mark.more
def test_late_rows_are_never_passed_over(way: Landed) -> None:
    way.start(QLIK)
    assert way.run(bad([qlik(seq(1, 1), "I", 1), qlik(seq(5, 3), "I", 2)])).success
    result = way.run([(KEYLESS, qlik(seq(3, 2), "I", 7))])
    assert "CDC 22859: dms_log: 1 rows of dbo.notes landed when the log had read" in result.output
    assert f"at change_seq {seq(3, 2)}: give settle_minutes" in result.output
    given_up = {"cdc_give_up_transactions": [seq(3, 2)]}
    result = way.run(bad([qlik(seq(6, 4), "I", 3)]), **given_up)
    assert result.success, result.output
    assert [row.operation for row in way.records()] == ["INSERT", "COMMIT"] * 3
    assert way.run(**given_up).success
    assert not way.run().success


@pytest.mark.more
def test_late_rows_of_a_hundredth_that_is_in_the_log(landed: Landed) -> None:
    """Written anew, it has them at the same COMMIT, which may be captured."""
    landed.start(QLIK)
    assert landed.run(bad([qlik(seq(1, 2), "I", 1), qlik(seq(5, 9), "I", 2)])).success
    result = landed.run([(KEYLESS, qlik(seq(1, 1), "I", 7))])
    assert (
        "CDC 22859: dms_log: 1 rows of dbo.notes landed when the log had a part of their"
        f" transaction, at change_seq {seq(1, 1)}: give settle_minutes" in result.output
    )
    assert "else begin a log of its own in another schema" in result.output


@pytest.mark.more
@pytest.mark.parametrize(
    ("xid", "says"), [("A", "had a part of their transaction"), ("C", "had read beyond them")]
)
def test_late_rows_of_a_transaction_over_hundredths(landed: Landed, xid: str, says: str) -> None:
    """It would be in the COMMIT of the later one, which may be captured."""

    def row(hundredth: int, id: int, xid: str) -> tuple[Any, ...]:
        place = f"202607011200{hundredth:04}{id:019}"
        return (place, "I", xid, id, "a", 1.0)

    landed.start(QLIK)
    assert landed.run(bad([row(101, 1, "A"), row(500, 2, "B")])).success
    result = landed.run([(KEYLESS, row(60, 7, xid))])
    assert f"CDC 22859: dms_log: 1 rows of dbo.notes landed when the log {says}" in result.output


@pytest.mark.more
def test_rows_that_land_again_with_other_values(way: Landed) -> None:
    """By their operation, and by each image of an update."""
    way.start(QLIK)
    rows = [qlik(seq(n, n), letter, n, "a") for n in (1, 2) for letter in "BU"]
    rows.append(qlik(seq(3, 3), "D", 3, None))
    for _ in range(2):
        assert way.run(bad(rows)).success
    given_up: list[str] = []
    others = [
        [("B", "a"), ("U", "")],
        [("B", "b"), ("U", "a")],
        [("I", None)],
    ]
    for number, images in enumerate(others, 1):
        place = seq(number, number)
        again = [qlik(place, letter, number, text) for letter, text in images]
        result = way.run(bad(again), **{"cdc_give_up_transactions": given_up})
        assert "CDC 22859: dms_log: 1 rows of dbo.orders landed again, unlike" in result.output
        assert f"of them, at change_seq {place}: land them as they were sent" in result.output
        given_up.append(place)
    assert way.run(**{"cdc_give_up_transactions": given_up}).success


@pytest.mark.more
def test_two_tasks_are_refused(way: Landed) -> None:
    way.start(QLIK)
    rows = [(KEYED, qlik(seq(1, 1), "I", 1)), (KEYLESS, qlik(seq(1, 1), "I", 1))]
    assert "rows of two tasks have landed together" in way.run(rows).output
    way.start(QLIK)
    assert way.run(rows[:1]).success
    assert "1 rows of dbo.notes landed when the log had a part of" in way.run(rows[1:]).output


def test_what_is_younger_than_settle_minutes_waits(landed: Landed) -> None:
    landed.start(QLIK)
    (now,) = landed.project.sql(
        "select date_format(current_timestamp(), 'yyyyMMddHHmmssSS') as text"
    )
    young = now.text + f"{2:019}"
    result = landed.run(bad([qlik(seq(1, 1), "I", 1), qlik(young, "I", 2)]))
    assert result.success, result.output
    assert "1 rows of dbo.orders wait: they are younger than settle_minutes, 10" in result.output
    assert [row.operation for row in landed.records()] == ["INSERT", "COMMIT"]


@pytest.mark.more
def test_a_transaction_of_two_seconds_is_one(way: Landed) -> None:
    """If its id goes on; an id that all rows have tells nothing."""
    rows = [(seq(n, n), "I", id, n, "a", 1.0) for n, id in ((1, "a"), (2, "b"), (3, "b"))]
    way.start(QLIK)
    assert way.run(bad(rows)).success
    commits = [row for row in way.records() if row.operation == "COMMIT"]
    assert [json.loads(row.transaction)["records"] for row in commits] == [2, 3]
    # alone in its run
    assert way.run(bad([(seq(n, n), "I", "c", n, "a", 1.0) for n in (4, 5)])).success
    assert [row.operation for row in way.records()].count("COMMIT") == 3
    way.start(QLIK)
    assert way.run(bad([(*row[:2], "0", *row[3:]) for row in rows])).success
    assert [row.operation for row in way.records()].count("COMMIT") == 3


@pytest.mark.more
def test_a_lone_transaction_is_never_published_in_two_halves(way: Landed) -> None:
    """Nothing else has landed; and where its rest lands too late, the log stops."""
    rows = [(seq(n, n), "I", "a", n, "a", 1.0) for n in (1, 2, 3)]
    way.start(QLIK)
    assert way.run(bad(rows[:2])).success
    assert [row.operation for row in way.records()] == ["INSERT", "INSERT", "COMMIT"]
    result = way.run(bad(rows[2:]))
    assert (
        "CDC 22859: dms_log: 1 rows of dbo.orders landed when the log had a part of their"
        f" transaction, at change_seq {seq(3, 3)}: give settle_minutes" in result.output
    )
    assert "where nothing of it is captured yet, write the log anew" in result.output
    assert way.project.dbt("run", "--select", "shop_log", "--full-refresh").success
    assert [row.operation for row in way.records()] == ["INSERT"] * 3 + ["COMMIT"]
    # an id that rows of two minutes have tells nothing
    way.start(QLIK)
    assert way.run(bad([*rows, (f"20260701120200{4:021}", *rows[0][1:])])).success
    assert [row.operation for row in way.records()].count("COMMIT") == 4


@pytest.mark.more
def test_another_time_zone_is_refused_before_anything_is_written(landed: Landed) -> None:
    landed.start(QLIK)
    spark = landed.project.spark
    try:
        spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
        result = landed.run(bad([qlik(seq(1, 1), "I", 1)]))
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert "the session's time zone is Europe/Berlin" in result.output
    assert not spark.catalog.tableExists(f"{landed.project.schema}.shop_log")


@pytest.mark.more
def test_truncate_is_a_record(landed: Landed) -> None:
    landed.start(QLIK)
    rows = [qlik(seq(1, 1), "I", 1), qlik(seq(2, 2), "T", None, None), qlik(seq(2, 3), "I", 2)]
    assert landed.run(bad(rows)).success
    found = [row for row in landed.records() if row.lsn > landed.records()[1].lsn]
    assert [row.operation for row in found] == ["TRUNCATE", "INSERT", "COMMIT"]
    assert found[0].before_image is None and found[0].after_image is None
    assert json.loads(found[2].transaction)["schema_changes"][0]["lsn"] == found[0].lsn


# --- files of AWS DMS: a full load, and no images before --------------------------------------


KEYS = {KEYED: ["id"], KEYLESS: ["id"]}


def keyed_models(log: str) -> dict[str, str]:
    """A log, the change table and the replica of dbo.orders."""
    instance = {
        "source_schema": "dbo",
        "source_name": "orders",
        "capture_instance": "dbo_orders",
        "index_columns": ["id"],
        "before_image": "partial",
        "capture_from": "log_start",
    }
    columns = [("id", "int"), ("text", "string"), ("n", "double")]
    yaml = {
        "version": 2,
        "models": [
            {
                "name": "dbo_orders_ct",
                "config": {"meta": {"cdc": instance}},
                "columns": [{"name": n, "data_type": t} for n, t in columns],
            }
        ],
    }
    return {
        "shop_log.sql": log,
        "sources.yml": json.dumps(SOURCES),
        "instances.yml": json.dumps(yaml),
        "dbo_orders_ct.sql": "{{ dbt_cdc.change_table() }}",
        "orders.sql": "{{ config(materialized='replica', unique_key='id') }}\n"
        "select * from {{ dbt_cdc.new_changes('dbo_orders') }}",
    }


@pytest.fixture(scope="module")
def files(make_project: Callable[..., Project]) -> Landed:
    models = keyed_models(log_model(keys=KEYS))
    return Landed(make_project(models=models, vars={"cdc_log_model": "shop_log"}))


@pytest.fixture(scope="module")
def keyed_stream(make_project: Callable[..., Project]) -> Streamed:
    models = keyed_models(log_model(STREAM, keys=KEYS))
    return Streamed(make_project(models=models, vars={"cdc_log_model": "shop_log"}))


def replicates(way: Landed, task: Task, headers: dict[str, str], changes_keys: bool) -> list[Any]:
    """A full load, then changes in two runs, and a true replica; the rows loaded of orders."""
    database = task.database
    start = {table: [dict(row) for row in rows] for table, rows in database.tables.items()}
    first = len(database.transactions)
    way.start(headers)
    way.land([row for table, rows in start.items() for row in task.full_load(table, rows)])
    rng = random.Random(1)
    for n in range(30):
        row = rng.choice(database.tables[KEYED])
        new = {**row, "text": f"t{n}", "n": None if n % 3 else n / 2}
        if changes_keys and n % 4 == 0:
            new["id"] = 2000 + n
        verbs = [
            ("update", KEYED, row, new),
            ("delete", KEYED, row),
            ("insert", KEYED, {"id": 1000 + n, "text": None, "n": 0.1}),
        ]
        database.commit(rng.choice(verbs))
    changed = [task.rows(transaction) for transaction in database.transactions[first:]]
    for low, high in ((0, 12), (12, 30)):
        way.land([row for rows in changed[low:high] for row in rows])
        way.project.ok("build")
        truth = database.truths(KEYED)[first + high]
        replica = way.project.sql("select id, text, n from {schema}.orders")
        assert sorted(json.dumps(r.asDict(), sort_keys=True) for r in replica) == truth
    loaded = [r for r in way.records() if r.lsn < int_to_lsn(2 << 40) and r.operation == "INSERT"]
    assert len(loaded) == sum(map(len, start.values()))
    return start[KEYED]


@pytest.mark.more
def test_files_give_the_true_rows(files: Landed) -> None:
    """No update of the key, which files do not tell."""
    start = replicates(files, Task(shop(7, 20), is_qlik=False), DMS, changes_keys=False)
    # a column that comes later changes nothing; another row does, as many as they are
    files.project.sql("alter table {schema}.landed_orders add column later string")
    assert files.run().success
    files.project.sql(
        "update {schema}.landed_orders set text = 'other'"
        f" where AR_H_CHANGE_SEQ is null and id = {start[0]['id']}"
    )
    assert (
        f"the full load of dbo.orders has {len(start)} rows, and is not the one"
        in files.run().output
    )
    files.project.sql("delete from {schema}.landed_orders where AR_H_CHANGE_SEQ is null")
    assert files.run().success


@pytest.mark.more
def test_keys_are_for_tables_without_images_before(files: Landed) -> None:
    files.start(DMS)
    result = files.run(bad([("B", seq(1, 1), 1, "a", 1.0), ("U", seq(1, 1), 1, "b", 1.0)]))
    assert "it is an image before an update, and keys has the table" in result.output


@pytest.mark.more
def test_a_deleted_row_tells_its_key_alone_where_the_source_does(files: Landed) -> None:
    files.start(DMS)
    inserted = ("I", seq(1, 1), 1, "a", 1.0)
    files.land(bad([inserted, ("D", seq(2, 2), 1, None, None)]))
    files.project.ok("build")
    rows = files.project.sql("select `__$operation` as op, id, text from {schema}.dbo_orders_ct")
    assert sorted((r.op, r.id, r.text) for r in rows) == [(1, 1, None), (2, 1, "a")]


# --- streams ----------------------------------------------------------------------------------

ROW = {"id": 1, "text": "a", "n": 1.0}
UPDATE = ("update", seq(1, 1), KEYED, "1", ROW)


@pytest.mark.parametrize("images", ["key", pytest.param("none", marks=MORE)])
def test_a_stream_with_keys_gives_the_true_rows(keyed_stream: Streamed, images: str) -> None:
    """With the key before an update a changed key is seen."""
    keyed_stream.engine, keyed_stream.images = "dms", images
    replicates(keyed_stream, Task(shop(7, 20)), QLIK, changes_keys=images == "key")


def test_a_message_is_read_as_it_is_written(streamed: Streamed) -> None:
    """Each digit; without what the task has added. Messages of no row are passed over."""
    digits = "12345678901234567890.123456789012345678"
    dms = dms_message("insert", seq(1, 1), KEYED, row={"id": 7}).replace("7,", f"{digits},")
    inner = json.loads(qlik_message("UPDATE", seq(2, 2), "2", ROW, ROW))["message"]
    names = {"AR_M_SOURCE_SCHEMA": "dbo", "AR_M_SOURCE_TABLE_NAME": "notes"}
    inner["data"] |= names
    inner["beforeData"] |= names
    deleted = json.loads(qlik_message("DELETE", seq(3, 3), "3", {}, ROW))
    deleted["message"]["data"] = None
    streamed.start()
    result = streamed.run(
        [
            ("shop", None),
            ("shop", dms_message("create-table", None, KEYED)),
            ("shop", dms_message("create-table", None, ".awsdms_apply_exceptions")),
            ("dbo.orders", json.dumps({"magic": "atMSG", "type": "MD", "message": {}})),
            ("shop", dms.replace("AR_H_CHANGE_SEQ", "ar_h_change_seq")),
            (None, json.dumps(inner, indent=2)),
            ("dbo.orders", json.dumps(deleted)),
        ]
    )
    assert result.success, result.output
    insert, update, delete = [r for r in streamed.records() if r.operation != "COMMIT"]
    assert (insert.source_schema, insert.source_name) == ("dbo", "orders")
    assert insert.after_image == f'{{"id":{digits}}}'
    assert (update.source_schema, update.source_name) == ("dbo", "notes")
    assert json.loads(update.before_image) == json.loads(update.after_image) == texts(ROW)
    assert json.loads(delete.before_image) == texts(ROW)


@pytest.mark.parametrize(
    "data", [pytest.param({"id": 1}, marks=MORE), {"id": 1, "text": None, "n": None}]
)
@pytest.mark.parametrize("is_reversed", [False, pytest.param(True, marks=MORE)])
def test_a_deleted_row_is_the_one_that_tells_more(
    streamed: Streamed, data: dict[str, Any], is_reversed: bool
) -> None:
    streamed.start()
    images = {"row": ROW, "before": data} if is_reversed else {"row": data, "before": ROW}
    result = streamed.run([("shop", dms_message("delete", seq(1, 1), KEYED, **images))])
    assert result.success, result.output
    assert json.loads(streamed.records()[0].before_image) == ROW


@MORE
def test_a_deleted_row_has_no_nulls(keyed_stream: Streamed) -> None:
    """Texts that look like some stay, and so does a row with nested values."""
    rows: list[dict[str, Any]] = [
        {"id": 1, "text": ":null, and more", "n": None, "a": ":null"},
        {"text": None, "n": None, "id": 2, "a": ',"x":null'},
        {"text": None, "n": None},
    ]
    nested = {"text": None, "id": 3, "n": {"x": None, "y": None}}
    keyed_stream.start()
    sent = [
        ("shop", dms_message("delete", seq(n, n), KEYED, str(n), row))
        for n, row in enumerate([*rows, nested], 1)
    ]
    spaced = dms_message("delete", seq(5, 5), KEYED, "5", rows[1])
    result = keyed_stream.run([*sent, ("shop", json.dumps(json.loads(spaced), indent=2))])
    assert result.success, result.output
    found = [json.loads(r.before_image) for r in keyed_stream.records() if r.before_image]
    told = [{name: v for name, v in row.items() if v is not None} for row in rows]
    assert found == [*told, nested, told[1]]


@pytest.mark.parametrize(
    ("message", "says"),
    [
        (("shop", dms_message(*UPDATE, before=ROW)[:-2]), "it is not readable JSON, or more than"),
        pytest.param(
            ("shop", 2 * dms_message("insert", seq(1, 1), KEYED, row=ROW)),
            "it is not readable JSON, or more than one",
            marks=MORE,
        ),
        pytest.param(("shop", '{"op":"c"}'), "it is no message of AWS DMS", marks=MORE),
        pytest.param(
            ("shop", dms_message("merge", seq(1, 1), KEYED, row=ROW)),
            "its operation is merge",
            marks=MORE,
        ),
        pytest.param(
            ("shop", qlik_message("INSERT", seq(1, 1), "1", ROW)),
            "it does not tell its table",
            marks=MORE,
        ),
        pytest.param(
            ("shop", dms_message("insert", None, KEYED, row=ROW)),
            "it has no change_seq: add AR_H_",
            marks=MORE,
        ),
        (("shop", dms_message("truncate-table", None, KEYED)), "it tells a TRUNCATE of dbo.orders"),
        (("shop", dms_message(*UPDATE)), "the update of dbo.orders is missing; the row behind it"),
        pytest.param(
            ("shop", dms_message(*UPDATE, before={"id": 1})),
            "before the update of dbo.orders has id; the row behind it has id, text, n: let",
            marks=MORE,
        ),
        pytest.param(
            ("dbo.orders", '{"headers":{"operation":"INSERT","changeSequence":"1"}}'),
            "it has no row, and is of operation insert",
            marks=MORE,
        ),
        pytest.param(
            ("shop", dms_message("insert", "20261", KEYED, row=ROW)),
            "bad log record of table dbo.orders, change_seq 20261: a change_seq has 35 digits",
            marks=MORE,
        ),
    ],
)
def test_a_message_that_is_none_stops_the_log(
    streamed: Streamed, message: Message, says: str
) -> None:
    streamed.start()
    streamed.engine = "qlik"
    result = streamed.run([message, *streamed.sent(bad([qlik(seq(2, 9), "I", 9)]))])
    assert not result.success
    place = "table" if "35 digits" in says else "message at position 0 of topic "
    assert f"CDC 22859: bad log record of {place}" in result.output
    assert says in result.output
    assert not streamed.project.spark.catalog.tableExists(f"{streamed.project.schema}.shop_log")


@pytest.mark.more
@pytest.mark.parametrize("row", [{"text": "a", "n": 1.0}, {"text": {"id": 5}, "id": 7}])
def test_a_key_that_a_message_lacks_stops_the_log(
    keyed_stream: Streamed, row: dict[str, Any]
) -> None:
    """One of a nested value's names is none."""
    keyed_stream.start()
    message = dms_message("update", seq(1, 1), KEYED, row=row)
    result = keyed_stream.run([("shop", message)])
    assert "it lacks a column of the key of dbo.orders, or has it behind" in result.output


@pytest.mark.more
def test_a_key_behind_thousands_of_columns(keyed_stream: Streamed) -> None:
    keyed_stream.start()
    row = {f"column_{n}": 'of "id": 5,' for n in range(5000)} | {"id": 7, "text": "a"}
    message = dms_message("update", seq(1, 1), KEYED, row=row)
    result = keyed_stream.run([("shop", message)])
    assert result.success, result.output
    assert keyed_stream.records()[0].before_image == '{"id":7}'


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"keys": {"dbo.other": ["id"]}}, "keys gives dbo.other"),
        pytest.param({"keys": {KEYED: "id"}}, "keys gives dbo.orders", marks=MORE),
        pytest.param({"keys": {KEYED: ["order_id"]}}, "has no column order_id", marks=MORE),
        pytest.param({"settle_minutes": True}, "settle_minutes is 'True'", marks=MORE),
        pytest.param({"settle_minutes": -1}, "settle_minutes is '-1'", marks=MORE),
        pytest.param({"headers": {"seq": "x"}}, "headers is", marks=MORE),
        pytest.param(
            {"headers": {"change_seq": "x"}}, "has no column that is its change_seq", marks=MORE
        ),
        pytest.param(
            {"events": "source('dms', 'landed_orders')"},
            "has no columns position and value",
            marks=MORE,
        ),
        pytest.param(
            {"events": STREAM, "headers": {"operation": "x"}}, "give the names of", marks=MORE
        ),
    ],
)
def test_arguments_that_are_none(
    make_project: Callable[..., Project], arguments: dict[str, Any], says: str
) -> None:
    models = {"shop_log.sql": log_model(**arguments), "sources.yml": json.dumps(SOURCES)}
    kind = Streamed if arguments.get("events") == STREAM else Landed
    made = kind(make_project(models=models, vars={"cdc_log_model": "shop_log"}))
    made.start(QLIK)
    result = made.run()
    assert "CDC 22963: dms_log: " in result.output
    assert says in result.output
