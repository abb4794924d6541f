"""What sinks and streams write, made to landed events: each once, in order, or the run says why."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from examples import Examples
from harness import DbtResult, Project
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from reference.source import Connector, Database, arrive
from statements import dying_at, recorded

pytestmark = pytest.mark.slow

CONFIG = "{{ config(materialized='incremental', incremental_strategy='append', "
CONFIG += "file_format='delta') }}\n"
ORDERS, ITEMS = "pg.public.orders", "pg.public.items"
CHANGE_TABLE = {
    "public_t_ct.sql": "{{ dbt_cdc.change_table() }}",
    "public_t_ct.yml": json.dumps({"models": [{
        "name": "public_t_ct",
        "config": {"meta": {"cdc": {
            "source_schema": "public", "source_name": "t", "index_columns": ["id"],
        }}},
        "columns": [{"name": "id", "data_type": "int"}, {"name": "v", "data_type": "string"}],
    }]}),
}  # fmt: skip
KAFKA = "topic string, partition int, offset bigint, key string, value string, timestamp timestamp"


def value(number: int, text: str = "") -> str:
    """The text of an event."""
    return json.dumps({"op": "c", "after": {"id": number, "text": text}})


@dataclass
class Landing:
    """A project with one landing model, and the folder that it reads."""

    project: Project
    spark: SparkSession
    folder: Path

    def model(self, call: str) -> None:
        """The body of the landing model."""
        self.project.write("models/landed.sql", CONFIG + "{{ dbt_cdc." + call + " }}\n")

    def files(self, **options: Any) -> None:
        """The model reads the folder."""
        given = "".join(f", {name}={option!r}" for name, option in options.items())
        self.model(f"landed_files('{self.folder}'{given})")

    def write(self, name: str, lines: Iterable[str], end: str = "\n") -> Path:
        """A file, whole at once."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{line}\n" for line in lines)[:-1] + end
        data = text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    def sink(
        self, topic: str, partition: int, start: int, lines: Iterable[str], more: str = "json"
    ) -> Path:
        """A file of Kafka Connect's sink."""
        name = f"topics/{topic}/partition={partition}/{topic}+{partition}+{start:010}.{more}"
        return self.write(name, lines)

    def run(self, *args: str) -> DbtResult:
        """Lands what is new; nothing is there twice, and positions are unique."""
        result = self.project.dbt("run", "--select", "landed", *args)
        if result.success:
            (row,) = self.project.sql(
                "select count(*) as n, count(distinct position) as positions from {schema}.landed"
            )
            assert row.n == row.positions
        return result

    def land(self, *args: str) -> str:
        """What a run says that succeeds."""
        result = self.run(*args)
        assert result.success, result.output
        return result.output

    def refusal(self) -> str:
        """What a run says that fails, and lands nothing."""
        before = self.rows()
        result = self.run()
        assert not result.success
        assert self.rows() == before
        return result.output

    def rows(self) -> list[tuple[Any, ...]]:
        """Places and values in the order of positions."""
        if not self.spark.catalog.tableExists(f"{self.project.schema}.landed"):
            return []
        return [
            tuple(row)
            for row in self.project.sql(
                "select topic, partition, offset, value from {schema}.landed order by position"
            )
        ]

    def places(self) -> list[str]:
        """Topic's first letter behind the schema, partition, offset."""
        return [f"{topic.split('.')[-1][0]}{n}:{offset}" for topic, n, offset, _ in self.rows()]


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    return make_project(models={"landed.sql": CONFIG + "select 1 as position"})


@pytest.fixture
def landing(project: Project, spark: SparkSession, tmp_path: Path) -> Landing:
    project.clear()
    landing = Landing(project, spark, tmp_path / "what lands")
    landing.folder.mkdir()
    landing.files()
    return landing


def test_a_sink_folder(landing: Landing) -> None:
    """Partitions go on by themselves, in files of any compression, and a hole is told."""
    landing.sink(ORDERS, 0, 0, map(value, range(3)))
    landing.sink(ORDERS, 1, 5, map(value, range(5, 7)), "json.gz")
    assert "hole" not in landing.land()
    assert landing.rows() == [
        *((ORDERS, 0, n, value(n)) for n in range(3)),
        *((ORDERS, 1, n, value(n)) for n in (5, 6)),
    ]
    # partition 0 lags behind partition 1; a topic begins; a file of lower name is of no one yet
    landing.sink(ORDERS, 0, 3, [value(3)])
    landing.sink(ITEMS, 0, 0, [value(1), "null"])
    landing.sink(ORDERS, 1, 9, [value(9)])
    said = landing.land()
    assert "landed: 1 hole in the offsets: pg.public.orders partition 1, offsets 7 to 8;" in said
    assert sorted(landing.places()[5:]) == ["i0:0", "i0:1", "o0:3", "o1:9"]
    before = landing.rows()
    landing.land()
    assert landing.rows() == before
    (row,) = landing.project.sql("select * from {schema}.landed where offset = 3")
    assert row.file_name == f"topics/{ORDERS}/partition=0/{ORDERS}+0+0000000003.json"
    assert (row.file_line, row.key, row.headers) == (1, None, None)
    landing.files(holes="refuse")
    landing.sink(ORDERS, 1, 11, [value(11)])
    said = landing.refusal()
    assert "CDC 22859: bad log record of folder" in said
    assert "1 hole in the offsets: pg.public.orders partition 1, offset 10: land what" in said


@pytest.mark.more
def test_two_runs_at_once(landing: Landing) -> None:
    """Each has looked before the other lands: one of them appends."""
    landing.sink(ORDERS, 0, 0, [value(0)])
    landing.land()
    table, errors = f"{landing.project.schema}.landed", list[str]()

    def looked() -> str:
        """What a run appends that has looked, and stands still."""
        with recorded() as statements, dying_at(lambda sql: "landed__dbt_tmp" in sql):
            assert not landing.run().success
        (view,) = [s for s in statements if s.startswith("create or replace temporary view")]
        return f"insert into {table} by name {view.partition(' as')[2]}"

    def append(statement: str) -> None:
        """Another run goes on."""
        try:
            landing.spark.newSession().sql(statement)
        except Exception as error:
            errors.append(str(error))

    landing.sink(ORDERS, 0, 1, [value(1), value(2)])
    statement = looked()
    landing.land()
    append(statement)
    assert (landing.places(), errors) == (["o0:0", "o0:1", "o0:2"], [])
    landing.sink(ORDERS, 0, 3, [value(3)])
    threads = [Thread(target=append, args=(looked(),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert landing.places() == ["o0:0", "o0:1", "o0:2", "o0:3"]
    assert all("DELTA_CONCURRENT_APPEND" in error for error in errors), errors
    landing.land()
    assert len(landing.rows()) == 4


@pytest.mark.more
def test_the_whole_way(make_project: Callable[..., Project], tmp_path: Path) -> None:
    """Topics of a sink, landed and captured, give the rows of the same events landed by position;
    columns that an older landing lacks are asked for."""
    database = Database(["t"], ["t"])
    database.commit(("insert", "t", {"id": 1, "v": "a"}, {"id": 2, "v": "b"}))
    connector = Connector(database)
    connector.snapshot()
    database.commit(("update", "t", {"id": 1, "v": "a"}, {"id": 1, "v": "c"}))
    database.commit(("delete", "t", {"id": 2, "v": "b"}), ("insert", "t", {"id": 3, "v": "d"}))
    connector.stream()
    events = arrive(connector.sent, 1)
    log = CONFIG + "{{ dbt_cdc.debezium_log(ref('landed')) }}"
    rows = []
    for layout in ("kafka_connect", "events"):
        models = {"log.sql": log, "landed.sql": "select 1 as position", **CHANGE_TABLE}
        project = make_project(models=models, vars={"cdc_log_model": "log"})
        landing = Landing(project, project.spark, tmp_path / layout)
        half = len(events) // 2
        for batch in (events[:half], events[half:]):
            if layout == "events":
                lines = [json.dumps(asdict(e)) for e in batch]
                landing.write(f"{batch[0].position:04}.jsonl", lines)
            for topic in {e.topic for e in batch} if layout == "kafka_connect" else ():
                before = sum(e.topic == topic for e in events[: events.index(batch[0])])
                lines = [e.value or "null" for e in batch if e.topic == topic]
                landing.sink(topic, 0, before, lines)
            landing.files()
            project.ok("run")
        captured = project.sql(
            "select `__$start_lsn`, `__$operation`, id, v from {schema}.public_t_ct"
            " order by `__$start_lsn`, `__$seqval`, `__$operation`"
        )
        rows.append([tuple(row) for row in captured])
    assert rows[0] == rows[1]
    assert [row[1:] for row in rows[0]] == [
        (2, 1, "a"), (2, 2, "b"), (3, 1, "a"), (4, 1, "c"), (1, 2, "b"), (2, 3, "d"),
    ]  # fmt: skip


@pytest.mark.more
def test_the_examples_of_the_reference(landing: Landing) -> None:
    """Of both macros; a landing of one's own, that lacks columns, is asked for them."""
    landing.project.write(
        "models/landed.sql",
        CONFIG
        + f"""
        select event.*, _metadata.file_name as file_name from (select from_json(value, 'position
        bigint, topic string, key string, value string, headers string') as event, _metadata
        from text.`{landing.folder}`)""",
    )
    landing.write("1.jsonl", map(event_line, (1, 2)))
    landing.land()
    landing.files()
    said = landing.run().output
    assert "lacks columns of landed events: partition int, offset bigint, timestamp times" in said
    command = re.search(r'run_statement --args "(.*?)"', said)
    assert command
    landing.project.ok("run-operation", "run_statement", "--args", command[1])
    landing.write("2.jsonl", [event_line(3)])
    landing.land()
    assert landing.project.sql("select max(position), count(*) from {schema}.landed") == [(3, 3)]

    landing.project.write("models/landed.sql", CONFIG + "select 1 as position")
    for path in landing.folder.iterdir():
        path.unlink()
    small = '{"op":"c","after":{"id":%d}}'
    landing.sink(ORDERS, 0, 0, [small % 1, small % 2])
    landing.sink(ORDERS, 1, 40, [small % 3])
    for path in landing.folder.rglob("*.json"):
        os.utime(path, (1, 1))
    call = CONFIG + "{{ dbt_cdc.%s }}"
    landing.project.write("models/landed_events.sql", call % f"landed_files('{landing.folder}')")
    landing.project.ok("run", "--select", "landed_events")
    Examples.of_project(landing.project, "landing.md#the-landing-model").check()
    landing.project.sql("drop table {schema}.landed_events")
    landing.project.sql(
        "create table {schema}.kafka as select topic, partition, offset, cast(null as binary) as"
        " key, cast(value as binary) as value from values "
        f"('{ORDERS}', 0, 0L, '{small % 1}'), ('{ORDERS}', 1, 40L, '{small % 3}')"
        " as t (topic, partition, offset, value)"
    )
    table = f"landed_table('{landing.project.schema}.kafka')"
    landing.project.write("models/landed_events.sql", call % table)
    landing.project.ok("run", "--select", "landed_events")
    Examples.of_project(landing.project, "landing.md#a-table").check()
    (landing.project.folder / "models/landed_events.sql").unlink()


def test_what_is_wrong_with_files(landing: Landing) -> None:
    """Each fault has its file and line, and nothing lands until it is mended."""
    first = landing.sink(ORDERS, 0, 0, map(value, range(3)))
    landing.land()
    # a torn line, and two values on a line
    for line in (value(3)[:9], value(3) + value(4), "", '"text"'):
        torn = landing.sink(ORDERS, 0, 3, [value(3), line, value(5)])
        said = landing.refusal()
        assert f"CDC 22859: bad log record of file topics/{ORDERS}/partition=0/{torn.name}" in said
        assert "line 2: it is not one JSON object" in said
    landing.sink(ORDERS, 0, 3, [value(3), value(4), value(5)])
    landing.land()
    assert landing.places() == [f"o0:{n}" for n in range(6)]
    # a file that was read changes: written again with the same lines is nothing
    os.utime(first, (1, 1))
    landing.land()
    landing.sink(ORDERS, 0, 0, [value(0), value(1), value(2), value(3)])
    landing.land()
    landing.sink(ORDERS, 0, 0, [value(0), value(1), value(7), *map(value, range(3, 8))])
    said = landing.refusal()
    assert f"{first.name}, line 3: the file changed after it was read (" in said
    assert "this line is another: put the file back" in said
    assert "it is: first put its new lines (2 from line 7 on), which would never land" in said
    landing.sink(ORDERS, 0, 0, [value(0), value(1), value(7)])
    said = landing.refusal()
    assert "what has landed is right as it is: dbt run-operation run_statement" in said
    command = re.search(r'run_statement --args "(.*?)"', said)
    assert command
    landing.project.ok("run-operation", "run_statement", "--args", command[1])
    landing.land()
    # a sink that begins again writes its last file again, shorter or longer
    landing.sink(ORDERS, 0, 0, [value(0), value(1)])
    landing.land()
    assert len(landing.rows()) == 6
    landing.sink(ORDERS, 0, 3, map(value, range(3, 8)))
    landing.sink(ORDERS, 0, 7, map(value, range(7, 9)))
    assert "hole" not in landing.land()
    assert landing.places() == [f"o0:{n}" for n in range(9)]
    before = landing.rows()
    landing.land()
    assert landing.rows() == before
    landing.sink(ORDERS, 0, 12, [value(12)])
    landing.land()
    landing.sink(ORDERS, 0, 7, map(value, range(7, 10)))
    assert "line 3: the file changed after it was read" in landing.refusal()
    landing.sink(ORDERS, 0, 7, map(value, range(7, 9)))
    # written anew, positions go on behind what other models have read
    landing.land("--full-refresh")
    assert landing.places() == [f"o0:{n}" for n in (0, 1, 3, 4, 5, 6, 7, 8, 12)]
    (row,) = landing.project.sql("select min(position) as first from {schema}.landed")
    assert row.first > 10


@pytest.mark.more
def test_files_that_go_and_copies(landing: Landing) -> None:
    """A file that goes between look and landing is no loss; copies alone do not hold up others."""
    landing.sink(ORDERS, 0, 0, [value(0)])
    landing.land()
    landing.sink("pg.keys.orders", 0, 0, [value(1)])
    gone = landing.sink(ORDERS, 0, 1, [value(1)])
    with recorded() as statements, dying_at(lambda sql: "landed__dbt_tmp" in sql):
        assert not landing.run().success
    (view,) = [s for s in statements if s.startswith("create or replace temporary view")]
    gone.unlink()
    with pytest.raises((PySparkException, Py4JError), match="it disappeared while it was read"):
        landing.spark.newSession().sql(view.partition(" as")[2]).collect()
    landing.land()
    assert sorted(landing.places()) == ["o0:0", "o0:0"]
    landing.files(files_per_run=1)
    landing.write(f"copy/{ORDERS}+0+0.json", [value(0)])
    last = landing.sink(ORDERS, 0, 1, [value(1)])
    os.utime(last, (2**32, 2**32))
    said = landing.refusal()
    assert f"all events of 1 files landed before under other names: copy/{ORDERS}+0+0.json" in said


@pytest.mark.more
def test_offsets_that_come_again_or_late(landing: Landing) -> None:
    """Equal ones are left out, others refused; a lower name than what was read is late."""
    landing.sink(ORDERS, 0, 0, map(value, range(4)))
    landing.sink(ORDERS, 0, 8, [value(8)])
    landing.land()
    again = landing.sink(ORDERS, 0, 2, map(value, range(2, 4)))
    assert "landed: leaves out 2 events that landed before" in landing.land()
    again.unlink()
    other = landing.sink(ORDERS, 0, 3, [value(3, "other")])
    said = landing.refusal()
    assert f"topic {ORDERS} partition 0 offset 3: it is there twice, with different content" in said
    assert f"landed at position 4 from topics/{ORDERS}/partition=0/{ORDERS}+0+0000000000" in said
    other.unlink()
    landing.sink(ORDERS, 0, 4, [value(4), value(5)])
    said = landing.refusal()
    assert f"topic {ORDERS} partition 0 offset 4 (topics/{ORDERS}/partition=0/" in said
    assert "2 events come late" in said
    landing.files(late="take")
    landing.land()
    assert landing.places() == [f"o0:{n}" for n in (0, 1, 2, 3, 8, 4, 5)]
    # twice in one batch
    landing.sink(ORDERS, 0, 9, map(value, (9, 10)))
    landing.sink(ORDERS, 0, 10, map(value, (10, 11)))
    landing.land()
    assert landing.places()[7:] == ["o0:9", "o0:10", "o0:11"]


def test_what_is_removed_keeps_its_position(landing: Landing) -> None:
    """An event that got it would never be read by who reads on by positions."""
    landing.sink(ORDERS, 0, 0, [value(0), value(1, "wrong")])
    landing.land()
    landing.write(f"again/{ORDERS}+0+1.json", [value(1)])
    (statement,) = re.findall(r"update .* and offset = 1", landing.refusal())
    landing.project.sql(statement)
    landing.land()
    assert landing.places() == ["o0:0", "o0:1", "o0:1"]
    query = "select * from {schema}.landed where offset = 1 order by position"
    removed, right = landing.project.sql(query)
    assert (removed.position, removed.topic, removed.value) == (2, f"removed.{ORDERS}", None)
    assert (right.position, right.topic, right.value) == (3, ORDERS, value(1))


def test_what_is_taken_out_stays_out(landing: Landing) -> None:
    """Its file may have another name by then, or more lines."""
    file = landing.sink(ORDERS, 0, 0, map(value, range(2)))
    landing.land()
    landing.project.sql("update {schema}.landed set key = null, value = null where offset = 1")
    file.rename(landing.folder / file.name)
    landing.sink(ORDERS, 0, 2, [value(2)])
    assert "landed: leaves out 2 events that landed before" in landing.land()
    landing.write(file.name, map(value, range(2)))
    landing.sink(ORDERS, 0, 0, map(value, range(4)))
    landing.land()
    assert [row[2:] for row in landing.rows()] == [
        (0, value(0)), (1, None), (2, value(2)), (3, value(3)),
    ]  # fmt: skip


@pytest.mark.more
@pytest.mark.parametrize("topic", ["", "topic = concat('removed.', topic), "])
def test_what_is_erased_leaves_no_hole(landing: Landing, topic: str) -> None:
    """Nor does it land again where it keeps its topic (docs/erasure.md)."""
    landing.files(holes="refuse")
    landing.sink(ORDERS, 0, 0, map(value, range(3)))
    landing.land()
    landing.project.sql(
        f"update {{schema}}.landed set {topic}key = null, value = null, headers = null"
        " where offset >= 1"
    )
    landing.sink(ORDERS, 0, 3, [value(3)])
    landing.land()
    landing.sink(ORDERS, 0, 5, [value(5)])
    assert "1 hole in the offsets: pg.public.orders partition 0, offset 4" in landing.refusal()
    landing.sink(ORDERS, 0, 4, [value(4)])
    landing.land()
    if not topic:
        landing.sink(ORDERS, 0, 1, map(value, range(1, 4)))
        assert "landed: leaves out 3 events that landed before" in landing.land()
    assert [row[2:] for row in landing.rows()] == [
        (0, value(0)), (1, None), (2, None), (3, value(3)), (4, value(4)), (5, value(5)),
    ]  # fmt: skip


@pytest.mark.more
@pytest.mark.parametrize("name", [f"{ORDERS}+0+0.json", "a.jsonl"])
def test_lines_that_have_offsets(landing: Landing, name: str) -> None:
    """Aiven's sinks may name files as others do; read as another layout, they would be values."""
    place = {} if "+" in name else {"topic": ORDERS, "partition": 0}
    landing.write(name, [json.dumps(place | {"key": "{}", "value": value(0), "offset": 0})])
    said = landing.refusal()
    assert "line 1: it has an offset and no position, as a line of layout='kafka_records'" in said
    assert "give the landing model this layout" in said
    landing.files(layout="kafka_records")
    landing.land()
    assert landing.places() == ["o0:0"]


@pytest.mark.parametrize("layout", ["auto", pytest.param("kafka_records", marks=pytest.mark.more)])
def test_a_topic_that_was_made_anew(landing: Landing, layout: str) -> None:
    """What has landed gets another name, by one command, and the new events land behind it."""

    def sent(start: int, text: str) -> None:
        lines = [value(n, text) for n in range(start, start + 2)]
        if layout == "auto":
            landing.sink(ORDERS, 0, start, lines)
        else:
            place = {"topic": ORDERS, "partition": 0}
            lines = [
                json.dumps(place | {"offset": start + n, "value": line})
                for n, line in enumerate(lines)
            ]
            landing.write(f"{text}{start}.jsonl", lines)

    landing.files(layout=layout, holes="refuse")
    sent(0, "old")
    sent(2, "old")
    landing.land()
    for file in [path for path in landing.folder.rglob("*.json*") if path.is_file()]:
        file.unlink()
    sent(0, "anew")
    said = landing.refusal()
    assert f"where topic {ORDERS} was made anew (a new cluster): take its new events out of" in said
    command = re.search(r'run_statement --args "(statement: update .*?)"', said)
    assert command
    landing.project.ok("run-operation", "run_statement", "--args", command[1])
    for start in (2, 4):
        landing.land()
        sent(start, "anew")
    landing.land()
    assert "leaves out" not in landing.land()
    rows = [(topic.partition(".pg")[0], offset) for topic, _, offset, _ in landing.rows()]
    old = rows[0][0]
    assert re.fullmatch("until [0-9-]{10}", old)
    assert rows == [*((old, n) for n in range(4)), *((ORDERS, n) for n in range(6))]


def test_files_whose_offsets_are_mixed_have_no_holes(landing: Landing) -> None:
    """As those of two writers at once, or of a table whose files were made fewer."""
    landing.files(layout="kafka_records", holes="refuse")
    place = {"topic": ORDERS, "partition": 0}
    lines = [json.dumps(place | {"offset": n, "value": value(n)}) for n in range(8)]
    landing.write("a.jsonl", [lines[0], lines[2], lines[4]])
    landing.write("b.jsonl", [lines[1], lines[3]])
    landing.land()
    landing.write("c.jsonl", [lines[5], lines[7]])
    assert "1 hole in the offsets: pg.public.orders partition 0, offset 6" in landing.refusal()


@pytest.mark.more
def test_the_last_changed_files_are_compared_first(landing: Landing) -> None:
    """Of a folder that was copied all have changed, and the sink goes on in the last one."""
    landing.files(files_per_run=2)
    files = [landing.sink(ORDERS, 0, n, [value(n)]) for n in range(3)]
    landing.land()
    landing.land()
    for number, file in enumerate(files):
        os.utime(file, (2**31 + number, 2**31 + number))
    landing.sink(ORDERS, 0, 2, [value(2), value(3)])
    os.utime(files[2], (2**30, 2**30))
    said = landing.land()
    assert "landed: compares 2 of 3 files whose size or time is no longer that of what" in said
    assert landing.places()[3:] == ["o0:3"]


@pytest.mark.more
def test_files_of_keys(landing: Landing) -> None:
    """A line of them belongs to the same line of the values."""
    landing.sink(ORDERS, 0, 0, map(value, range(2)))
    landing.sink(ORDERS, 0, 0, ['{"id":0}', '{"id":1}'], "keys.json")
    landing.sink(ORDERS, 0, 0, ["[]", '[{"key":"__debezium.oldkey"}]'], "headers.json")
    landing.land()
    rows = landing.project.sql("select key, headers from {schema}.landed order by position")
    assert rows == [('{"id":0}', "[]"), ('{"id":1}', '[{"key":"__debezium.oldkey"}]')]
    landing.sink(ORDERS, 0, 2, map(value, range(2)))
    assert "it has no file of keys beside it" in landing.refusal()
    landing.sink(ORDERS, 0, 2, ['{"id":0}'], "keys.json")
    landing.sink(ORDERS, 0, 2, ["[]", "[]"], "headers.json")
    assert "line 2: the file of its keys has no such line" in landing.refusal()


def event_line(position: int, topic: str = ORDERS, **more: Any) -> str:
    """An event of layout events."""
    fields = {"position": position, "topic": topic, "key": None, "value": value(position)}
    return json.dumps(fields | more)


@pytest.mark.more
def test_lines_of_events(landing: Landing) -> None:
    """Positions are the lines' own; a file is new by its name, whatever name that is."""
    landing.write("b.jsonl", map(event_line, (1, 2)))
    landing.write("c.jsonl.gz", ["", event_line(3), ""])
    landing.land()
    landing.write("a.jsonl", [event_line(7)], end="")
    landing.land()
    (last,) = landing.project.sql("select * from {schema}.landed where position > 3")
    assert (last.position, last.value, last.file_name) == (7, value(7), "a.jsonl")
    landing.write("d.jsonl", [event_line(9, value={"op": "c", "n": 1.50})])
    assert "d.jsonl, line 1: its key or value is no text that holds JSON" in landing.refusal()
    landing.write("d.jsonl", [event_line(9)[:-4]])
    assert "bad log record of file d.jsonl, line 1: it is not one JSON" in landing.refusal()
    landing.write("d.jsonl", [json.dumps({"topic": "x"})])
    assert "file d.jsonl, line 1: it has no member value" in landing.refusal()
    landing.write("d.jsonl", [json.dumps({"topic": "x", "value": None})])
    assert "file d.jsonl, line 1: it has no position" in landing.refusal()
    landing.write("d.jsonl", [event_line(5)])
    assert "position 5 (d.jsonl line 1): 1 events come late" in landing.refusal()
    landing.write("d.jsonl", [event_line(8), event_line(8, value="{}")])
    assert "position 8: it is there twice, with different content" in landing.refusal()
    landing.write("d.jsonl", [event_line(3), event_line(8), event_line(8)])
    assert "leaves out 2 events" in landing.land()
    landing.write(f"{ORDERS}+0+0.json", [value(1)])
    landing.write("e.jsonl", [event_line(9)])
    assert "its files have several layouts: " in landing.refusal()


@pytest.mark.more
def test_records_and_parquet(landing: Landing) -> None:
    """Each row has its offset: in lines of records, and in Parquet files; some files a run."""
    landing.files(layout="kafka_records", files_per_run=1)
    record = {"offset": 4, "key": '{"id":1}', "value": value(4), "timestamp": 1700000000000}
    landing.write(f"{ORDERS}+2+4.json", [json.dumps(record), json.dumps(record | {"offset": 9})])
    landing.write("zz.json", [json.dumps({"topic": ITEMS, "partition": 0, **record})])
    os.utime(landing.folder / "zz.json", (1, 1))
    assert "landed: lands 1 of 2 files that are new; the next run goes on" in landing.land()
    landing.land()
    assert landing.places() == ["i0:4", "o2:4", "o2:9"]
    (row,) = landing.project.sql("select * from {schema}.landed where offset = 9")
    assert (row.key, str(row.timestamp)) == ('{"id":1}', "2023-11-14 22:13:20")
    landing.project.clear()
    for path in landing.folder.iterdir():
        path.unlink()
    # offsets come before times of files
    landing.files(layout="kafka_records")
    for start, time in ((1, 20), (3, 10)):
        lines = [json.dumps(record | {"offset": start}), json.dumps(record | {"offset": start + 1})]
        os.utime(landing.write(f"{ORDERS}+0+{9 - start}.json", lines), (time, time))
    landing.land()
    assert landing.places() == ["o0:1", "o0:2", "o0:3", "o0:4"]
    landing.project.clear()
    for path in landing.folder.iterdir():
        path.unlink()
    rows = [(ORDERS, 0, n, None, value(n), None) for n in (2, 1)] + [(ITEMS, 0, 7, "k", "{}", None)]
    for batch, columns in ((rows[:1] + rows[2:], KAFKA), (rows[1:2], KAFKA.split(", time")[0])):
        batch = [row[: columns.count(",") + 1] for row in batch]
        frame = landing.spark.createDataFrame(batch, columns).coalesce(1)
        frame.write.mode("append").parquet(f"{landing.folder}/parts")
    landing.files()
    landing.land()
    assert sorted(landing.places()) == ["i0:7", "o0:1", "o0:2"]


def test_what_would_be_passed_over(landing: Landing) -> None:
    """A record without a value, numbers too long for a place, a file that was cut."""
    landing.files(layout="kafka_records")
    record = {"topic": ITEMS, "partition": 0, "offset": 4, "key": None}
    landing.write("a.json", [json.dumps(record | {"Value": value(4)})])
    assert "file a.json, line 1: it has no member value" in landing.refusal()
    long = "x+1+20261128123456789012345.json"
    (landing.folder / "a.json").rename(landing.folder / long)
    landing.write(long, [json.dumps(record | {"value": None})])
    landing.land()
    assert landing.places() == ["i0:4"]
    cut = landing.write("b.json.gz", [json.dumps(record | {"offset": n, "value": value(n)})
                                      for n in range(5, 9)])  # fmt: skip
    cut.write_bytes(cut.read_bytes()[:-20])
    landing.spark.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
    try:
        assert not landing.run().success
    finally:
        landing.spark.conf.unset("spark.sql.files.ignoreCorruptFiles")


def test_rows_that_change_between_look_and_landing(landing: Landing) -> None:
    """A row that goes, all of them, another one in its place, one more: none is passed over."""
    kafka = f"{landing.project.schema}.kafka"
    landing.project.sql(f"create table {{schema}}.kafka ({KAFKA}) using delta")

    def add(*offsets: int, time: str = "10:00:00") -> None:
        """Rows of the stream."""
        for n in offsets:
            landing.project.sql(
                f"insert into {{schema}}.kafka values ('{ORDERS}', 0, {n}, null, '{value(n)}',"
                f" timestamp '2024-01-01 {time}')"
            )

    landing.model(f"landed_table('{kafka}')")
    add(0, 1, 2, 4, 5)
    landing.land()
    landing.model(f"landed_table('{kafka}', late='take')")
    add(3, 6, 7, 8)
    with recorded() as statements, dying_at(lambda sql: "landed__dbt_tmp" in sql):
        assert not landing.run().success
    (view,) = [s for s in statements if s.startswith("create or replace temporary view")]
    for change in (
        "delete from {schema}.kafka where offset = 7",
        "delete from {schema}.kafka where offset = 3",
        "delete from {schema}.kafka where offset in (3, 6, 7, 8)",
        "update {schema}.kafka set timestamp = timestamp '2024-01-02' where offset = 7",
        f"insert into {{schema}}.kafka select '{ORDERS}', 0, 7, null, 'other', null",
    ):
        landing.project.sql(change)
        with pytest.raises((PySparkException, Py4JError), match="went, came or changed while it"):
            landing.spark.newSession().sql(view.partition(" as")[2]).collect()
        landing.project.sql("delete from {schema}.kafka where offset in (3, 6, 7, 8)")
        add(3, 6, 7, 8)
    landing.land()
    assert landing.places() == [f"o0:{n}" for n in (0, 1, 2, 4, 5, 3, 6, 7, 8)]


@pytest.mark.parametrize(
    "time", ["null", pytest.param("timestamp_millis(-1)", marks=pytest.mark.more)]
)
def test_timestamps_that_tell_nothing(landing: Landing, time: str) -> None:
    """A topic that was made anew is told by its contents, and what is taken out stays out."""
    kafka = f"{landing.project.schema}.kafka"
    landing.project.sql(f"create table {{schema}}.kafka ({KAFKA}) using delta")

    def add(offset: int, text: str, time: str = "timestamp '2024-01-01 10:00:00'") -> None:
        landing.project.sql(
            f"insert into {{schema}}.kafka values"
            f" ('{ORDERS}', 0, {offset}, null, '{value(offset, text)}', {time})"
        )

    landing.model(f"landed_table('{kafka}')")
    add(0, "a")
    add(1, "a", time)
    landing.land()
    landing.project.sql("update {schema}.landed set key = null, value = null where offset = 0")
    add(2, "a")
    landing.land()
    contents = [(0, None), (1, value(1, "a")), (2, value(2, "a"))]
    assert [row[2:] for row in landing.rows()] == contents
    # one that has a time, and was corrected
    value_ = f"set value = '{value(2, 'right')}' where offset = 2"
    landing.project.sql("update {schema}.landed " + value_)
    landing.land()
    landing.project.sql("delete from {schema}.kafka where offset = 1")
    add(1, "anew", time)
    add(3, "anew", time)
    said = landing.refusal()
    assert "partition 0 offset 1: it is there twice, with different content" in said
    assert f"correct the row in table {kafka}, or remove what has landed: " in said


@pytest.mark.more
def test_places_that_are_no_numbers(landing: Landing) -> None:
    """As those of Kinesis: a shard, and a number that no offset can hold."""
    kinesis = f"{landing.project.schema}.kinesis"
    landing.model(f"landed_table('{kinesis}', columns={{'partition': 'shard'}})")
    number = "4" * 56
    for shard, offset, says in (
        ("shardId-000000000001", "1", "`shard` has shardId-000000000001, which is no int"),
        ("1", number, f"`offset` has {number}, which is no bigint"),
    ):
        landing.project.sql(
            "create or replace table {schema}.kinesis using delta as select 'x' as topic,"
            f" '{shard}' as shard, '{offset}' as offset, 'k' as key, '{value(1)}' as value"
        )
        said = landing.refusal()
        assert f"its column {says}: partition and offset are numbers, as Kafka has them" in said
        assert "CDC 22859: bad log record of table " in said


@pytest.mark.more
def test_a_table_of_a_stream(landing: Landing) -> None:
    """As Spark's Kafka source has it; partitions lag, rows come again, late and with holes."""
    schema = landing.project.schema
    kafka = (
        "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp,"
        " headers array<struct<key: string, value: binary>>"
    )
    landing.project.sql(f"create table {{schema}}.kafka ({kafka}) using delta")

    def add(*rows: tuple[str, int, int, str]) -> None:
        """Rows of the stream: topic, partition, offset, time."""
        texts = [
            f"select cast('k' as binary) as key, cast('{value(offset)}' as binary) as value,"
            f" '{topic}' as topic, {partition} as partition, {offset} as offset,"
            f" timestamp '2024-01-01 {time}' as timestamp,"
            " array(struct('__debezium.newkey' as key, cast('1' as binary) as value)) as headers"
            for topic, partition, offset, time in rows
        ]
        landing.project.sql("insert into {schema}.kafka by name " + " union all ".join(texts))

    landing.model(f"landed_table('{schema}.kafka')")
    add((ORDERS, 0, 1, "10:00:05"), (ORDERS, 0, 2, "10:00:01"), (ORDERS, 1, 7, "10:00:02"))
    landing.land()
    assert landing.places() == ["o1:7", "o0:1", "o0:2"]
    (row,) = landing.project.sql("select * from {schema}.landed where partition = 1")
    assert (row.key, row.value) == ("k", value(7))
    assert row.headers == '[{"key":"__debezium.newkey","value":"1"}]'
    # what is taken out keeps its place
    landing.project.sql("update {schema}.landed set key = null, value = null where position = 3")
    add((ORDERS, 1, 7, "10:00:02"), (ORDERS, 1, 9, "10:01:00"), (ORDERS, 1, 9, "10:01:00"))
    add((ITEMS, 0, 0, "10:00:09"))
    assert "hole in the offsets: pg.public.orders partition 1, offset 8" in landing.land()
    assert landing.places()[3:] == ["i0:0", "o1:9"]
    add((ORDERS, 1, 8, "10:00:30"), (ORDERS, 0, 3, "10:02:00"))
    assert "partition 1 offset 8 (a new row): 1 events come late" in landing.refusal()
    landing.model(f"landed_table('{schema}.kafka', late='take')")
    landing.land()
    assert landing.places()[5:] == ["o1:8", "o0:3"]
    landing.land()
    assert len(landing.rows()) == 7
    landing.project.sql(
        "insert into {schema}.kafka by name select cast('no' as binary) as value,"
        f" '{ORDERS}' as topic, 1 as partition, 9L as offset"
    )
    said = landing.refusal()
    assert "partition 1 offset 9: it is there twice, with different content" in said
    # a source that deletes what has landed: a topic made anew and a late row are seen
    landing.model(f"landed_table('{schema}.kafka')")
    landing.project.sql("delete from {schema}.kafka where true")
    add((ORDERS, 0, 2, "10:00:01"), (ITEMS, 0, 0, "10:00:09"), (ITEMS, 0, 1, "12:00:00"))
    landing.land()
    assert landing.places()[7:] == ["i0:1"]
    landing.project.sql("delete from {schema}.kafka where topic = '" + ITEMS + "'")
    add((ITEMS, 0, 0, "13:00:00"))
    assert "leaves out" in landing.land()  # the same content at another time
    landing.model(f"landed_table('{schema}.kafka', late='take')")
    assert "leaves out" in landing.land()
    landing.model(f"landed_table('{schema}.kafka')")
    landing.project.sql("update {schema}.kafka set value = cast('anew' as binary)")
    landing.project.sql("update {schema}.kafka set timestamp = timestamp '2024-01-02'")
    assert "it is there twice, with different content" in landing.refusal()
    landing.project.sql("delete from {schema}.kafka where true")
    add((ORDERS, 1, 1, "10:00:00"))
    assert "partition 1 offset 1 (a new row): 1 events come late" in landing.refusal()
    landing.model(f"landed_table('{schema}.kafka', columns={{'offset': 'kafka_offset'}})")
    assert "has no column kafka_offset; it has key, value, topic" in landing.refusal()


@pytest.mark.more
@pytest.mark.parametrize("was_int", [False, True])
def test_positions_go_on_beyond_31_bits(landing: Landing, was_int: bool) -> None:
    """As earlier versions made the column, too."""
    record = {"key": "{}", "value": value(1), "timestamp": 1700000000000}
    landing.files(layout="kafka_records")
    landing.write(f"{ORDERS}+0+1.json", [json.dumps(record | {"offset": 1})])
    landing.land()
    kind = "int" if was_int else "bigint"
    landing.project.sql(
        "create or replace table {schema}.landed using delta as select * except (position),"
        f" cast(2147483647 as {kind}) as position from {{schema}}.landed"
    )
    landing.write(f"{ORDERS}+0+2.json", [json.dumps(record | {"offset": 2})])
    landing.land()
    found = landing.project.sql("select position, typeof(position) as type from {schema}.landed")
    assert sorted(map(tuple, found)) == [(2147483647, "bigint"), (2147483648, "bigint")]
