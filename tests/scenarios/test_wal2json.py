"""The log out of wal2json: a real one, captured to the true table states, and small faulty ones."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterable
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from math import isnan
from typing import Any

import pytest
from capturing import change_row, instance_yaml
from harness import DbtResult, Project
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.functions import expr
from reference.apply import State, apply_all
from reference.capture import CaptureInstance, ChangeRow, capture
from reference.debezium import read_log
from reference.log import int_to_lsn
from reference.truth import Truth, landed_events
from test_truth import DATA, TABLES, TYPES

POSTGRES = DATA / "postgres"
pytestmark = pytest.mark.slow
LANDED = "position bigint, value string"
MODEL = """{{{{ config(materialized='{kind}', file_format='delta') }}}}
{{{{ dbt_cdc.wal2json_log(source('landing', 'landed'){arguments}) }}}}"""
SOURCE = "sources: [{name: landing, schema: '{{ target.schema }}', tables: [{name: landed}]}]"


# --- a real log -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def truth() -> Truth:
    return Truth(POSTGRES)


@pytest.fixture(scope="module")
def instances(truth: Truth) -> list[CaptureInstance]:
    return [truth.instance(t, "partial" if t == "docs" else "complete") for t in TABLES]


@pytest.fixture(scope="module")
def shop(make_project: Callable[..., Project], instances: list[CaptureInstance]) -> Project:
    """An incremental log of three batches, which end inside of transactions."""
    models = {
        "shop_log.sql": MODEL.format(kind="incremental", arguments=""),
        "sources.yml": SOURCE,
        "partial.yml": instance_yaml([i for i in instances if i.before_image == "partial"]),
        "complete.yml": instance_yaml([i for i in instances if i.before_image == "complete"]),
    }
    for instance in instances:
        models[f"{instance.capture_instance}_ct.sql"] = "{{ dbt_cdc.change_table() }}"
    made = make_project(models=models, vars={"cdc_log_model": "shop_log"})
    made.clear()
    made.sql(f"create table {{schema}}.landed ({LANDED}) using delta")
    with gzip.open(POSTGRES / "wal2json" / "v2.jsonl.gz", "rt", encoding="utf-8") as text:
        lines = text.read().split("\n")[:-1]
    cuts = [0, *(inside(lines, at) for at in (900, 1700)), len(lines)]
    for low, high in pairwise(cuts):
        rows = list(enumerate(lines[low:high], low + 1))
        frame = made.spark.createDataFrame(rows, LANDED).coalesce(1)
        frame.write.insertInto(f"{made.schema}.landed")
        made.ok("run")
    return made


def inside(lines: list[str], at: int) -> int:
    """The next place behind `at` that is behind the first change of a transaction of several."""
    actions = [json.loads(line)["action"] for line in lines]
    return next(n for n in range(at, len(lines)) if actions[n - 2] == "B" and actions[n] in "IUD")


def changes(project: Project, instance: CaptureInstance) -> list[ChangeRow]:
    rows = project.sql(f"select * from {{schema}}.{instance.capture_instance}_ct")
    return sorted((change_row(row, instance) for row in rows), key=lambda row: row.order)


def test_the_true_state_at_every_checkpoint(
    shop: Project, instances: list[CaptureInstance], truth: Truth
) -> None:
    for instance in instances:
        rows, state, previous = changes(shop, instance), State(instance), ""
        for checkpoint in truth.checkpoints:
            end = int_to_lsn(checkpoint.position << 24)
            apply_all(state, [row for row in rows if previous < row.start_lsn <= end])
            assert truth.differences(state, checkpoint.number) == []
            previous = end


def test_change_rows_are_those_of_debezium(shop: Project, instances: list[CaptureInstance]) -> None:
    """Behind Debezium's snapshot; `__$seqval` apart, which counts other events between."""
    records = read_log(
        landed_events(POSTGRES / "debezium" / "all.jsonl.gz"), TYPES, {"public.docs": "key"}
    ).records
    first = min(r.lsn for r in records if r.operation == "COMMIT" and r.tran_id != "snapshot")
    for instance in instances:
        found = [
            [
                (row.start_lsn, row.operation, row.update_mask, row.values)
                for row in rows
                if row.start_lsn >= first
            ]
            for rows in (changes(shop, instance), capture(records, instance))
        ]
        assert found[0], instance
        assert found[0] == found[1]


def test_the_log_accounts_for_each_transaction(shop: Project) -> None:
    log, landed = f"{shop.schema}.shop_log", f"{shop.schema}.landed"
    counted = shop.sql(f"select operation, count(*) from {log} group by 1")
    expected = shop.sql(
        f"select get_json_object(value, '$.action') as action, count(*) from {landed} group by 1"
    )
    by_name, by_action = dict(map(tuple, counted)), dict(map(tuple, expected))
    assert {n[0]: by_name[n] for n in ("INSERT", "UPDATE", "DELETE")} == {
        n: by_action[n] for n in "IUD"
    }
    assert by_name["BEGIN"] == by_name["COMMIT"] < by_action["C"]  # some are empty


# --- small logs -----------------------------------------------------------------------------------

Line = dict[str, Any]
Records = list[tuple[str, str, str | None, Any, Any]]
TYPED = CaptureInstance(
    "public",
    "v",
    "public_v",
    (
        ("id", "int"),
        ("big", "bigint"),
        ("exact", "decimal(38,18)"),
        ("free", "string"),
        ("own", "decimal(38,10)"),
        ("float", "double"),
        ("flag", "boolean"),
        ("bytes", "binary"),
        ("zone", "timestamp"),
        ("plain", "timestamp"),
        ("day", "date"),
        ("doc", "string"),
        ("list", "string"),
        ("padded", "char(5)"),
        ("price", "string"),
        ("bits", "string"),
        ("agreed", "boolean"),
    ),
    ("id",),
    "complete",
)


def head(action: str, xid: int, wal: int, **more: Any) -> Line:
    """A line as wal2json begins it."""
    lsn = f"{wal >> 32:X}/{wal & 0xFFFFFFFF:X}"
    time = f"2026-11-21 09:15:{xid % 60:02}.5+00"
    return {"action": action, "xid": xid, "timestamp": time, "lsn": lsn, **more}


def column(name: str, value: Any, data_type: str) -> Line:
    return {"name": name, "type": data_type, "value": value}


def row(number: int, value: str | None) -> list[Line]:
    """A row of a table of two columns."""
    return [column("id", number, "integer"), column("v", value, "text")]


def insert(number: int, value: str | None = "a", table: str = "t") -> Line:
    return {"action": "I", "schema": "public", "table": table, "columns": row(number, value)}


def update(old: list[Line], new: list[Line]) -> Line:
    return {"action": "U", "schema": "public", "table": "t", "columns": new, "identity": old}


def delete(old: list[Line]) -> Line:
    return {"action": "D", "schema": "public", "table": "t", "identity": old}


TRUNCATE = {"action": "T", "schema": "public", "table": "t"}
MESSAGE = {"action": "M", "transactional": True, "prefix": "p", "content": '{"action":"I"}'}
ALONE = {"action": "M", "xid": None, "timestamp": None, "lsn": "0/1", "transactional": False}


def transaction(xid: int, commit: int, *changes: Line) -> list[Line]:
    """The lines of a transaction; `commit` is its nextlsn."""
    end = {"nextlsn": f"{commit >> 32:X}/{commit & 0xFFFFFFFF:X}"}
    return [
        head("B", xid, commit - 8, **end),
        *(head(xid=xid, wal=commit - 100 + n, **change) for n, change in enumerate(changes)),
        head("C", xid, commit - 8, **end),
    ]


def text(line: Line | str | None) -> str | None:
    """The JSON of a line, as wal2json spaces it."""
    if line is None or isinstance(line, str):
        return line
    return json.dumps(line, separators=(",", ":"), ensure_ascii=False)


def spoken(rows: Iterable[Any]) -> Records:
    """What tests look at of the log, in its order."""
    return [
        (r.tran_id, r.operation, r.source_name, r.before_image, r.after_image)
        for r in sorted(rows, key=lambda r: r.lsn)
    ]


def one(xid: int, *changes: tuple[str, str | None, Any, Any]) -> Records:
    """The records of a transaction."""
    bounds = [(str(xid), name, None, None, None) for name in ("BEGIN", "COMMIT")]
    return [bounds[0], *((str(xid), *change) for change in changes), bounds[1]]


class Slot:
    """A project that reads the lines of a slot."""

    def __init__(self, project: Project, spark: SparkSession) -> None:
        self.project, self.spark, self.landed, self.query = project, spark, 0, ""

    def start(self) -> None:
        """Nothing has landed."""
        self.project.clear()
        self.landed = 0

    def run(self, *lines: Line, full_refresh: bool = False, **options: Any) -> DbtResult:
        """Lands lines, and runs the log."""
        self.land(*lines)
        refresh = ["--full-refresh"] if full_refresh else []
        return self.project.dbt("run", "--select", "log", *refresh, **options)

    def land(self, *lines: Line | str | None, at: int | None = None) -> None:
        first = self.landed + 1 if at is None else at
        rows = [(first + n, text(line)) for n, line in enumerate(lines)]
        self.landed = max(self.landed, first + len(rows) - 1)
        frame = self.spark.createDataFrame(rows, LANDED).coalesce(1).write.format("delta")
        frame.mode("append").saveAsTable(f"{self.project.schema}.landed")

    def log(self) -> Records:
        return spoken(self.project.table("log").collect())

    def compiled(self, model: str) -> str:
        """The SQL of a model, by what is there now."""
        self.project.ok("compile", "--select", model)
        path = self.project.folder / f"target/compiled/{self.project.name}/models/{model}.sql"
        return path.read_text(encoding="utf-8")

    def read(self, *lines: Line | str | None, positions: list[int | None] | None = None) -> Records:
        """The log of lines, by the SQL of a view."""
        self.query = self.query or self.compiled("log_view")
        places = positions or list(range(1, len(lines) + 1))
        rows = [(place, text(line)) for place, line in zip(places, lines, strict=True)]
        frame = self.spark.createDataFrame(rows, LANDED)
        # a letter of LATIN1
        latin = "cast(unhex(replace(hex(value), hex('\ue000'), 'FC')) as string)"
        frame.withColumn("value", expr(latin)).createOrReplaceTempView("landed_lines")
        query = self.query.replace(f"{self.project.schema}.landed", "landed_lines")
        return spoken(self.spark.sql(query).collect())

    def refusal(self, *lines: Line | str | None, **options: Any) -> str:
        """The error that lines give."""
        with pytest.raises((PySparkException, Py4JError)) as error:
            self.read(*lines, **options)
        return re.findall("CDC .*", str(error.value))[0]


@pytest.fixture(scope="module")
def slot(make_project: Callable[..., Project], spark: SparkSession) -> Slot:
    models = {
        "log_view.sql": MODEL.format(kind="view", arguments=""),
        "log.sql": MODEL.format(kind="incremental", arguments=""),
        "sources.yml": SOURCE,
        "public_v_ct.sql": "{{ dbt_cdc.change_table() }}",
        "instances.yml": instance_yaml([TYPED]),
    }
    return Slot(make_project(models=models, vars={"cdc_log_model": "log"}), spark)


def image(number: int, value: str | None) -> str:
    return json.dumps({"id": number, "v": value}, separators=(",", ":"), ensure_ascii=False)


# --- what the log has -----------------------------------------------------------------------------


@pytest.mark.usefixtures("ansi")
class TestWhatTheLogHas:
    """By the SQL of a view."""

    def test_each_kind_of_line(self, slot):
        """A key change is one update; a large value that did not change is in no new image; a
        table without full identity tells the key alone; messages leave nothing."""
        key = [column("id", 1, "integer")]
        quotes = '"},{"name":"v","type":"text","value":1}],"pk":[\\'
        lines = [
            ALONE,
            *transaction(
                7,
                100000,
                insert(1, quotes),
                MESSAGE,
                update(row(1, quotes), row(2, None)),
                update(key, [column("id", 1, "integer")]),
                delete(key),
                TRUNCATE,
            ),
            ALONE,
            *transaction(8, 100200),
            *transaction(9, 2**32 + 16, {**insert(3), "pk": [{"name": "id", "type": "integer"}]}),
        ]
        assert slot.read(*lines) == [
            *one(
                7,
                ("INSERT", "t", None, image(1, quotes)),
                ("UPDATE", "t", image(1, quotes), image(2, None)),
                ("UPDATE", "t", '{"id":1}', '{"id":1}'),
                ("DELETE", "t", '{"id":1}', None),
                ("TRUNCATE", "t", None, None),
            ),
            *one(9, ("INSERT", "t", None, image(3, "a"))),
        ]

    def test_columns_with_names_of_members(self, slot):
        names = ["id", "value", "type", "name", "columns", "identity", "pk"]
        columns = [column(name, "5", "integer") for name in names]
        columns += [column("value2", "t", "boolean"), column('a,"value":', "\\x00", "bytea")]
        made = {**dict.fromkeys(names, 5), "value2": True, 'a,"value":': "00"}
        line = {"action": "I", "schema": "public", "table": "t", "columns": columns}
        after = json.dumps(made, separators=(",", ":"))
        assert slot.read(*transaction(7, 100000, line)) == one(7, ("INSERT", "t", None, after))

    def test_lsns_are_numbered_as_debezium_logs(self, slot, spark):
        slot.read(*transaction(7, 100000, insert(1)), *transaction(8, 2**32 + 16, insert(2)))
        query = slot.query.replace(f"{slot.project.schema}.landed", "landed_lines")
        records = sorted(spark.sql(query).collect())
        numbers = [65536 << 24 | 1, 65536 << 24 | 2, 100000 << 24]
        numbers += [100000 << 24 | 1, 100000 << 24 | 2, (2**32 + 16) << 24]
        assert [r.lsn for r in records] == [int_to_lsn(n) for n in numbers]
        assert [r.source_lsn for r in records] == [None, 99900, None, None, 2**32 - 84, None]
        assert records[1].record_time == datetime(2026, 11, 21, 9, 15, 7, 500000)
        assert json.loads(records[1].encodings) == {"id": "integer", "v": "text"}

    def test_a_commit_tells_its_transaction(self, slot, spark):
        other = insert(2, table="u")
        whole = transaction(7, 100000, insert(1), other, TRUNCATE, delete(row(1, "a")), insert(3))
        slot.read(
            *whole[:5],  # cut off, and sent again
            *whole,
            *transaction(8, 100200, update(row(3, "a"), row(4, "a"))),
        )
        query = slot.query.replace(f"{slot.project.schema}.landed", "landed_lines")
        records = sorted(spark.sql(query).collect())
        tables = {"INSERT": "inserted", "DELETE": "deleted", "UPDATE": "updated"}
        for xid in ("7", "8"):
            found = [record for record in records if record.tran_id == xid]
            told = json.loads(found[-1]["transaction"])
            assert [told["begin_lsn"], told["records"]] == [found[0].lsn, len(found)]
            for operation, name in tables.items():
                names = {r.source_name for r in found if r.operation == operation}
                assert [t["source_name"] for t in told[name]] == sorted(names)
            emptied = [r.lsn for r in found if r.operation == "TRUNCATE"]
            assert [change["lsn"] for change in told["schema_changes"]] == emptied
        assert [r["transaction"] for r in records if r.operation != "COMMIT"] == [None] * 8

    def test_what_comes_again(self, slot):
        """Whole transactions, and one that was cut off twice; what is open at the end waits."""
        first, second = (
            transaction(7, 100000, insert(1)),
            transaction(8, 100100, insert(2), MESSAGE),
        )
        long = transaction(9, 100200, insert(3), insert(4), insert(4))
        lines = [*first, *second, *long[:2], *second, *long[:3], *second, *first, *long, *long]
        lines += transaction(10, 100300, insert(5))[:-1]
        expected = [*one(7, ("INSERT", "t", None, image(1, "a")))]
        expected += one(8, ("INSERT", "t", None, image(2, "a")))
        expected += one(9, *(("INSERT", "t", None, image(n, "a")) for n in (3, 4, 4)))
        assert slot.read(*lines) == expected
        # one without changes that was cut right after its B, twice
        empty, last = transaction(11, 100400), transaction(12, 100500, insert(6))
        lines = [*first, empty[0], empty[0], *empty, *last]
        assert slot.read(*lines) == [*expected[:3], *one(12, ("INSERT", "t", None, image(6, "a")))]


# --- what is refused ------------------------------------------------------------------------------


def without(name: str, lines: list[Line]) -> list[Line]:
    return [{key: value for key, value in line.items() if key != name} for line in lines]


GOOD = transaction(7, 100000, insert(1), update(row(1, "a"), row(1, "b")))
NEXT = transaction(8, 100100, insert(2))
LAST = transaction(9, 100200, insert(3))
TELLS_MORE = {**GOOD[1], "columns": [{**c, "optional": True} for c in row(1, "a")]}
REFUSED: dict[str, tuple[list[Any], str]] = {
    "lsn": (without("lsn", without("nextlsn", GOOD)), "lacks what these options add: include-lsn"),
    "xids": (without("xid", GOOD), "lacks what these options add: include-xids"),
    "timestamp": (without("timestamp", GOOD), "these options add: include-timestamp"),
    "schemas": (without("schema", GOOD), "these options add: include-schemas"),
    "transaction": (GOOD[1:3], "transaction 7: its lines, from position 1 on, have no B before"),
    "not null": ([GOOD[0], TELLS_MORE], "leave out include-not-null"),
    "latin": (
        transaction(7, 100000, insert(1), update(row(1, "a"), row(1, "\ue000"))),
        "not UTF-8",
    ),
    "version": (['{"xid":7,"change":[]}'], "no line of wal2json, format version 2"),
    "json": ([GOOD[0], text(GOOD[1])[:-3]], "line at position 2: it is not readable JSON"),
    "two": ([text(GOOD[0]) + text(GOOD[1])], "line at position 1: it is not readable JSON"),
    "null": ([None], "line at position 1: it is no line of wal2json"),
    "spaces": ([json.dumps(line) for line in GOOD], "without a step that formats JSON"),
    "action": ([{**GOOD[0], "action": "X"}], "line at position 1: its action is X"),
    "no number": ([{**GOOD[0], "nextlsn": "0:1"}], "its LSN is 0:1"),
    "no C": ([*GOOD[:-1], *NEXT], "transaction 7:100000: its C has not landed, and lines behind"),
    "back": ([*GOOD, *LAST, *NEXT], "transaction 8:100100: it landed at position 8, behind a"),
    "mixed": (
        [*GOOD[:2], NEXT[0], *GOOD[2:], *NEXT[1:]],
        "are among those of transaction 7:100000",
    ),
    "late": ([*NEXT, GOOD[0], *GOOD[1:]], "transaction 7:100000: it landed at position 4, behind"),
    "behind C": ([*GOOD, GOOD[1]], "a line of it follows its C, at position 5"),
    "ends": ([*GOOD[:-1], {**GOOD[-1], "nextlsn": "0/1"}], "has another nextlsn than its B"),
    "xid": ([*GOOD, *without("xid", GOOD)[:0], *transaction(6, 100000, insert(1))], "same nextlsn"),
    "copy": ([*GOOD, GOOD[0], NEXT[1] | {"xid": 7}, *GOOD[2:]], "from position 5 on differ from"),
    "shorter copy": ([*GOOD, *GOOD[:2], GOOD[-1]], "it came more than once"),
    "longer cut": ([*GOOD[:3], GOOD[2], *GOOD], "it came more than once"),
    "other cut": ([GOOD[0], GOOD[2], *GOOD], "it came more than once"),
}


@pytest.mark.usefixtures("ansi")
class TestWhatIsRefused:
    """An error names the place and the way on."""

    @pytest.mark.parametrize("name", REFUSED)
    def test_lines(self, slot, name):
        lines, error = REFUSED[name]
        found = slot.refusal(*lines)
        assert error in found
        assert found.startswith("CDC 22859: bad log record of ")

    def test_positions(self, slot):
        found = slot.refusal(*GOOD, positions=[1, 2, None, 4])
        assert "a line in landed_lines: it has no position" in found
        found = slot.refusal(*GOOD, positions=[1, 2, 2, 4])
        assert "transaction 7:100000: two lines have one position, between 1 and 4" in found


# --- batches --------------------------------------------------------------------------------------


@pytest.mark.more
def test_batches_that_end_inside_transactions(slot):
    """What is cut off waits; copies of what the log has leave nothing; nothing new is no run."""
    slot.start()
    first, empty = transaction(7, 100000, insert(1)), transaction(8, 100100)
    second = transaction(9, 100200, insert(2), update(row(2, "a"), row(3, "a")))
    waits = slot.run(*first, *empty, *second[:2])
    assert waits.success
    says = "its lines have landed from position 6 on, its C has not"
    assert re.search(f"transaction 9:100200 waits since 2026-11-21 .*: {says}", waits.output)
    (found,) = slot.project.table("waiting_transactions").collect()
    assert (found.tran_id, found.first_position, found.reason) == ("9:100200", 6, says)
    assert slot.log() == one(7, ("INSERT", "t", None, image(1, "a")))
    assert {r.resume_position for r in slot.project.table("log").collect()} == {5}
    assert slot.run(*first, *empty, *second[:3]).success  # it began again, and copies came
    assert len(slot.log()) == 5  # and nothing else than an empty one
    assert slot.run(second[3], *transaction(10, 100300), *transaction(11, 100400)[:1]).success
    (found,) = slot.project.table("waiting_transactions").collect()
    assert found.tran_id == "11:100400"
    records = [
        *one(7, ("INSERT", "t", None, image(1, "a"))),
        *one(8),
        *one(
            9,
            ("INSERT", "t", None, image(2, "a")),
            ("UPDATE", "t", image(2, "a"), image(3, "a")),
        ),
    ]
    assert slot.log() == records
    # of empty transactions alone the last one, so that the next run reads on
    assert slot.run(transaction(11, 100400)[1], *transaction(12, 100500)).success
    assert slot.log() == [*records, *one(12)]
    end = "select max(resume_position) as position from {schema}.log"
    assert slot.project.sql(end) == [(slot.landed,)]
    assert slot.run(*transaction(13, 100600, insert(7))).success
    records += [*one(12), *one(13, ("INSERT", "t", None, image(7, "a")))]
    assert slot.log() == records
    # positions that begin anew would never be read
    slot.project.sql("delete from {schema}.landed where position > 3")
    assert "began anew: the last one is 3, and the log has read up to" in slot.run().output


@pytest.mark.more
def test_of_two_runs_at_once_one_appends(slot):
    slot.start()
    assert slot.run(*GOOD).success
    slot.land(*NEXT)
    overtaken = slot.compiled("log")
    assert slot.run(*LAST).success
    slot.project.sql(f"insert into {{schema}}.log {overtaken}")
    assert [r[0] for r in slot.log() if r[1] == "COMMIT"] == ["7", "8", "9"]


@pytest.mark.more
def test_what_lands_at_or_below_the_end(slot):
    """A transaction that the log lacks, a copy that differs, positions that were read beyond."""
    slot.start()
    assert slot.run(*GOOD, *LAST).success
    late = slot.run(*NEXT)
    assert "CDC 22859: transaction 8:100100 committed at or below the end of the log" in late.output
    assert 'give vars: {cdc_give_up_transactions: ["8:100100"]}' in late.output
    assert slot.run(vars={"cdc_give_up_transactions": ["8:100100"]}).success
    other = slot.run(LAST[0], {**LAST[1], "columns": row(3, "b")}, LAST[2])
    both = {"cdc_give_up_transactions": ["8", "9"]}
    assert "CDC 22859: transaction 8:100100 " in other.output  # it lands again, as nothing went on
    other = slot.run(vars={"cdc_give_up_transactions": ["8"]})
    assert (
        "transaction 9:100200 landed again, unlike what the log has of it: 1 lines" in other.output
    )
    assert slot.run(*transaction(12, 100500, insert(5)), vars=both).success
    assert [r[0] for r in slot.log() if r[1] == "COMMIT"] == ["7", "9", "12"]
    slot.land(*transaction(13, 100600, insert(6)))
    slot.land(NEXT[0], at=2)
    found = slot.run()
    assert "CDC 22859: 1 lines landed at or below position 16" in found.output


@pytest.mark.more
def test_the_way_on_for_a_transaction_that_landed_late(slot):
    """It is put where it committed, by the command that a log tells that is written anew."""
    slot.start()
    assert slot.run(*GOOD, *LAST).success
    later = transaction(10, 100300, insert(4))
    late = slot.run(*NEXT, *later).output
    assert "write the log anew (dbt run --full-refresh --select log), which tells how to" in late
    before = slot.log()
    told = slot.run(full_refresh=True).output
    assert "transaction 8:100100: it landed at position 8, behind a transaction that" in told
    assert slot.log() == before
    command = re.search(r'run_statement --args "(statement: update .*?)"', told)
    slot.project.ok("run-operation", "run_statement", "--args", command[1])
    assert slot.run(full_refresh=True).success
    assert [r[0] for r in slot.log() if r[1] == "COMMIT"] == ["7", "8", "9", "10"]
    assert slot.run(*transaction(12, 100500, insert(5)), *NEXT).success
    assert [r[0] for r in slot.log() if r[1] == "COMMIT"] == ["7", "8", "9", "10", "12"]


@pytest.mark.more
def test_a_late_line_is_not_hidden_by_copies(slot):
    slot.start()
    assert slot.run(*GOOD).success
    slot.project.sql("insert into {schema}.landed select * from {schema}.landed")
    assert slot.run(*NEXT).success
    slot.project.sql("""insert into {schema}.landed values (0, '{"action":"M"}')""")
    assert "1 lines landed at or below position" in slot.run(*LAST).output


@pytest.mark.more
def test_a_late_line_is_not_hidden_by_removed_ones(slot):
    """Old lines may go from the lowest position on."""
    slot.start()
    assert slot.run(*GOOD).success
    slot.land(*NEXT, at=11)
    assert slot.run().success
    slot.project.sql("delete from {schema}.landed where position <= 2")
    slot.land(*NEXT, at=11)  # these are there twice
    assert slot.run(*LAST).success
    slot.project.sql("delete from {schema}.landed where position <= 3")
    slot.project.sql("""insert into {schema}.landed values (9, '{"action":"M"}')""")
    found = slot.run(*transaction(10, 100300, insert(4)))
    assert "1 lines landed at or below position" in found.output


@pytest.mark.more
def test_a_transaction_whose_end_never_comes_is_given_up(slot):
    slot.start()
    assert slot.run(*GOOD, *NEXT[:2]).success
    found = slot.run(*LAST)
    assert "CDC 22859: bad log record of transaction 8:100100: its C has not landed" in found.output
    assert slot.run(vars={"cdc_give_up_transactions": ["8:100100"]}).success
    assert [r[0] for r in slot.log() if r[1] == "COMMIT"] == ["7", "9"]
    assert slot.run().success


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("version=1", "CDC 22988: wal2json_log: version '1' is not supported"),
        pytest.param(
            "types=['public.t']",
            "CDC 22963: wal2json_log: types is ",
            marks=pytest.mark.more,
        ),
        pytest.param(
            "types={'t': {}}",
            "CDC 22963: wal2json_log: types names 't'",
            marks=pytest.mark.more,
        ),
        pytest.param(
            "types={'public.t': 'x'}",
            "CDC 22963: wal2json_log: types['public.t'] is 'x'",
            marks=pytest.mark.more,
        ),
        ("types={'public.t': {'a': 'x'}}", "CDC 22963: the source type of column 'public.t.a'"),
    ],
)
def test_arguments(make_project, arguments, error):
    model = MODEL.format(kind="view", arguments=f", {arguments}")
    project = make_project(models={"log.sql": model, "sources.yml": SOURCE})
    assert error in project.dbt("compile", "--select", "log").output


# --- values ---------------------------------------------------------------------------------------


def typed(number: int, as_text: bool) -> Line:
    """A row of each type; `as_text`: with numeric-data-types-as-string."""

    def digits(value: str) -> Any:
        return value if as_text else Number(value)

    columns = [
        column("id", digits(str(number)), "integer"),
        column("big", digits("9007199254740993"), "bigint"),
        column("exact", digits("-12345678901234567890.123456789012345678"), "numeric(38,18)"),
        column("free", digits("1.50"), "numeric"),
        column("own", digits("12345678901234567890.0000000001"), "amount"),
        column("float", "NaN" if as_text else Number("-0"), "double precision"),
        column("flag", True, "boolean"),
        column("bytes", "\\x00ff" if as_text else "00ff", "bytea"),
        column("zone", "2026-03-29 02:30:00.000001+05:30", "timestamp with time zone"),
        column("plain", "2026-03-29 02:30:00.123", "timestamp(3) without time zone"),
        column("day", "1600-02-29", "date"),
        column("doc", '{"a": [1, 1.50, "\u0001"]}', "jsonb"),
        column("list", '{1,NULL,"x\\"y"}', "text[]"),
        column("padded", "ab   ", "character(5)"),
        column("price", "$1,000.00", "money"),
        column("bits", "101", "bit(3)"),
        column("agreed", "f" if as_text else "t", "boolean"),
    ]
    return {"action": "I", "schema": "public", "table": "v", "columns": columns}


class Number(str):
    """The digits of a number, as they stand in JSON."""


def lines_of(*changes: Line, types: bool = True) -> list[str]:
    """A transaction as text, with numbers by their digits."""
    lines = []
    for line in transaction(7, 100000, *changes):
        columns, numbers = line.get("columns", []), []
        for found in columns:
            if not types:
                del found["type"]
            if isinstance(found["value"], Number):
                numbers.append(found["value"])
                found["value"] = f"@{len(numbers)}@"
        lines.append(text(line) or "")
        for n, number in enumerate(numbers, 1):
            lines[-1] = lines[-1].replace(f'"@{n}@"', number)
    return lines


def test_values_are_exact(slot):
    slot.start()
    slot.land(*lines_of(typed(1, False), typed(2, True)))
    slot.project.ok("run")
    found = slot.project.sql("select * from {schema}.public_v_ct order by id")
    for number, values in enumerate(found, 1):
        assert values.id == number
        assert values.big == 9007199254740993
        assert values.exact == Decimal("-12345678901234567890.123456789012345678")
        assert values.free == "1.50"
        assert values.own == Decimal("12345678901234567890.0000000001")
        assert values.flag is True
        assert bytes(values.bytes) == b"\x00\xff"
        assert values.zone == datetime(2026, 3, 28, 21, 0, 0, 1)
        assert values.plain == datetime(2026, 3, 29, 2, 30, 0, 123000)
        assert values.day == date(1600, 2, 29)
        assert values.doc == '{"a": [1, 1.50, "\u0001"]}'
        assert values.list == '{1,NULL,"x\\"y"}'
        assert values.padded.rstrip() == "ab"
        assert (values.price, values.bits, values.agreed) == ("$1,000.00", "101", number == 1)
    assert [v.float == 0 or isnan(v.float) for v in found] == [True, True]
    printed = slot.project.ok(
        "run-operation", "get_source_columns", "--args", "{source_schema: public, source_name: v}"
    ).output
    for name, data_type in TYPED.columns:
        if name != "free" and name != "own":
            assert re.search(rf"\b{name}\b.*{re.escape(data_type)}", printed), name


@pytest.mark.more
def test_types_where_the_lines_have_none(make_project, spark):
    """include-types=false: bytes are hexadecimal digits, and the model says so."""
    arguments = ", types={'public.v': {'bytes': 'binary(hex)'}}"
    models = {
        "log.sql": MODEL.format(kind="table", arguments=arguments),
        "sources.yml": SOURCE,
        "public_v_ct.sql": "{{ dbt_cdc.change_table() }}",
        "instances.yml": instance_yaml([TYPED]),
    }
    untyped = Slot(make_project(models=models, vars={"cdc_log_model": "log"}), spark)
    untyped.start()
    change = typed(1, False)
    change["columns"] = [c for c in change["columns"] if c["name"] not in ("free", "agreed")]
    untyped.land(*lines_of(change, types=False))
    untyped.project.ok("run")
    values = untyped.project.sql("select * from {schema}.public_v_ct")[0]
    assert values.exact == Decimal("-12345678901234567890.123456789012345678")
    assert bytes(values.bytes) == b"\x00\xff"
