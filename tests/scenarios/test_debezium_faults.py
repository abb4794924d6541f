"""A faulty source, connector or transport: the log has the truth, or a run says what is wrong.

Logs come from a model of the source (`reference/source.py`), and the truth is its tables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import pytest
from harness import DbtResult, Project
from pyspark.sql import SparkSession
from reference.debezium import Event
from reference.source import Connector, Database, arrive, rows_by_the_log
from statements import dying_at

pytestmark = pytest.mark.slow

LANDED = "position bigint, topic string, key string, value string, headers string"
MODEL = """{{ config(materialized='incremental', file_format='delta') }}
{{ dbt_cdc.debezium_log(source('kafka', 'landed')) }}"""
SOURCE = "sources: [{name: kafka, schema: '{{ target.schema }}', tables: [{name: landed}]}]"

FATES = (
    "in_log", "copies", "waiting", "given_up", "later_snapshots", "heartbeats", "tombstones",
    "messages",
)  # fmt: skip

WRITES_LOG = r"(insert into|create (or replace )?table)\s+(table\s+)?\S*[.]log\b"


@dataclass
class Shop:
    """A database, its connector, and a project that reads what has landed."""

    project: Project
    spark: SparkSession
    landed: int = 0

    def start(self) -> None:
        """Nothing has landed."""
        self.project.clear()
        self.landed = 0

    def begin(self, *rows: int) -> tuple[Database, Connector]:
        """A new database: `t` has a key and these rows, `bag` has none and two equal rows."""
        self.start()
        database = Database(["t", "bag"], ["t"])
        database.commit(
            ("insert", "t", *({"id": n, "v": "first"} for n in rows)),
            ("insert", "bag", {"id": 0, "v": "same"}, {"id": 0, "v": "same"}),
        )
        return database, Connector(database)

    def land(self, events: list[Event]) -> None:
        """One more batch, in this order."""
        batch = arrive(events, self.landed + 1)
        self.landed += len(batch)
        rows = [(e.position, e.topic, e.key, e.value, e.headers) for e in batch]
        frame = self.spark.createDataFrame(rows, LANDED).coalesce(1).write.format("delta")
        frame.mode("append").saveAsTable(f"{self.project.schema}.landed")

    def run(self, events: list[Event], *args: str) -> DbtResult:
        """Lands a batch and runs the log."""
        self.land(events)
        return self.project.dbt("run", "--select", "log", *args)

    def cut(self) -> None:
        """The log keeps its last record."""
        (row,) = self.project.sql("select max(lsn) as lsn from {schema}.log")
        self.project.sql(f"delete from {{schema}}.log where lsn < '{row.lsn}'")

    def is_balanced(self) -> bool:
        """Whether the balances add up, and reach up to the last event but for what waits."""
        balances = self.project.sql("select * from {schema}.event_balances order by last_position")
        return bool(balances) and all(
            b.landed == sum(b[fate] for fate in FATES) and min(b.in_log, b.copies) >= 0
            for b in balances
        )

    def lacks(self, database: Database) -> dict[str, Any]:
        """The tables that the log's changes do not make: (by the log, in the database)."""
        records = self.project.table("log").collect()
        tables = {t: (rows_by_the_log(records, t), database.truth(t)) for t in database.tables}
        return {table: found for table, found in tables.items() if found[0] != found[1]}

    def has(self, database: Database) -> bool:
        """Whether the log's changes make the database's tables."""
        return not self.lacks(database)


@pytest.fixture(scope="module")
def shop(make_project: Callable[..., Project], spark: SparkSession) -> Shop:
    models = {"log.sql": MODEL, "sources.yml": SOURCE}
    return Shop(make_project(models=models, vars={"cdc_log_model": "log"}), spark)


def row(number: int, value: str) -> dict[str, Any]:
    return {"id": number, "v": value}


def updates(*numbers: int, old: str = "first", new: str = "new") -> list[Any]:
    return ["update", "t", *(r for n in numbers for r in (row(n, old), row(n, new)))]


@pytest.mark.more
def test_a_run_that_dies_before_it_tells_the_balance(shop):
    """A later one does; each event is in one balance."""
    database, connector = shop.begin(1, 2)
    connector.snapshot()
    start = 0
    for number in range(5):
        batch = connector.sent[start:]
        start = len(connector.sent)
        if number in (0, 2, 3):
            with dying_at(lambda sql: re.match(WRITES_LOG, sql) is not None):
                assert not shop.run(batch).success
        else:
            assert shop.run(batch).success
            balances = shop.project.sql("select sum(landed) from {schema}.event_balances")
            assert shop.is_balanced() and balances[0][0] == shop.landed
        database.commit(
            updates(1, old="first" if number == 0 else f"v{number}", new=f"v{number + 1}")
        )
        connector.stream()
    assert len(shop.project.sql("select * from {schema}.event_balances")) == 5


TELL = """{% macro tell_balance(previous_lsn, position) %}
    {% do dbt_cdc._record_balances({
        'log': ref('log'), 'events': source('kafka', 'landed'),
        'previous_lsn': previous_lsn, 'position': position,
    }) %}
{% endmacro %}"""


@pytest.mark.more
@pytest.mark.parametrize("ends", [(0, 1), (1, 0), (0, 0, 1, 1)])
def test_runs_that_overlap_tell_each_balance_once(shop, ends):
    """The next one appends its batch before the first one ends; or both have read the same."""
    database, connector = shop.begin(1, 2)
    connector.snapshot()
    assert shop.run(connector.sent).success
    shop.project.write("macros/tell_balance.sql", TELL)
    begun = []
    for old, new in (("first", "v1"), ("v1", "v2")):
        (last,) = shop.project.sql("select max(lsn), max(resume_position) from {schema}.log")
        begun.append({"previous_lsn": last[0], "position": last[1]})
        start = len(connector.sent)
        database.commit(updates(1, old=old, new=new))
        connector.stream()
        with dying_at(lambda sql: re.match(WRITES_LOG, sql) is not None):
            assert not shop.run(connector.sent[start:]).success
    for number in ends:
        shop.project.ok("run-operation", "tell_balance", "--args", json.dumps(begun[number]))
    balances = shop.project.sql("select sum(landed), count(*) from {schema}.event_balances")
    assert shop.is_balanced() and tuple(balances[0]) == (shop.landed, 3)


# --- the connector restarts inside a transaction --------------------------------------------------


@pytest.mark.parametrize(
    "unacknowledged", [2, *(pytest.param(n, marks=pytest.mark.more) for n in (0, 3))]
)
def test_restart_inside_a_transaction(shop, unacknowledged):
    """Numbers begin at 1 again, and the last events come again under new ones."""
    database, connector = shop.begin(*range(1, 11))
    connector.snapshot()
    database.commit(updates(*range(1, 11)), ("insert", "t", *(row(n, "x") for n in (21, 22, 23))))
    database.commit(updates(1, old="new", new="after"))
    connector.stream(events=7)
    connector.restart(unacknowledged)
    assert shop.run(connector.sent).success
    assert shop.has(database)


@pytest.mark.more
def test_restarts_inside_rows_of_one_position(shop):
    """Rows of one INSERT share a position; some are equal, of a table without a key."""
    database, connector = shop.begin(1)
    connector.snapshot()
    same = [{"id": 0, "v": "same"}] * 3
    database.commit(
        ("insert", "t", row(2, "a"), row(3, "b"), row(4, "c")),
        ("update", "t", row(2, "a"), row(9, "a"), row(3, "b"), row(8, "b")),
        ("insert", "bag", {"id": 1, "v": "one"}, {"id": 2, "v": "two"}),
    )
    connector.stream(events=3)
    connector.restart(2, events=7)
    connector.restart(3)
    database.commit(("insert", "bag", *same))  # no restart: three rows
    connector.stream()
    assert shop.run(connector.sent).success
    assert shop.has(database)


@pytest.mark.more
def test_restart_whose_first_events_are_missing(shop):
    """The numbers have a hole: said, until the rest has landed."""
    database, connector = shop.begin(*range(1, 11))
    connector.snapshot()
    database.commit(updates(*range(1, 11)))
    connector.stream(events=6)
    database.commit(updates(1, old="new", new="after"))
    connector.restart(1)
    sent = connector.sent
    lost = next(n for n, e in enumerate(sent) if '"total_order": 3' in (e.value or ""))
    result = shop.run([e for n, e in enumerate(sent) if n != lost])
    assert not result.success
    assert "CDC 22859: bad log record of transaction 502:" in result.output
    assert "event number 4 follows number 2" in result.output
    assert shop.run([sent[lost]]).success
    assert shop.has(database)


@pytest.mark.more
def test_restart_whose_first_events_land_later(shop):
    """END counts what was sent since: of a topic that lags nothing is missed before it lands."""
    database, connector = shop.begin(1, 2, 3)
    connector.snapshot()
    start = len(connector.sent)
    database.commit(updates(1, 2, 3), ("insert", "bag", {"id": 1, "v": "one"}))
    connector.stream(events=4)
    connector.restart()
    lagging = [e for e in connector.sent[start:] if e.topic.endswith(".t")]
    result = shop.run([e for e in connector.sent if e not in lagging])
    assert result.success
    assert "waits since" in result.output and "its BEGIN has landed twice" in result.output
    assert shop.run(lagging).success
    assert not shop.has(database)
    database.commit(updates(1, old="new", new="after"))
    start = len(connector.sent)
    connector.stream()
    result = shop.run(connector.sent[start:])
    assert result.success and "waits" not in result.output
    assert shop.has(database) and shop.is_balanced()


@pytest.mark.more
def test_equal_rows_of_a_snapshot(shop):
    """Of a table without a key, also where events tell no microseconds."""
    for micros in (True, False):
        database, connector = shop.begin(1, 2)
        connector.snapshot(micros=micros)
        database.commit(updates(1))
        connector.stream()
        assert shop.run(connector.sent).success
        assert shop.has(database)


@pytest.mark.more
def test_a_snapshot_that_begins_again_at_one_place(shop):
    """Nothing was committed in between: only the times of sending tell the attempts apart."""
    database, connector = shop.begin(1, 2, 3)
    connector.snapshot(2)
    connector.snapshot()
    for batch in (connector.sent[:2], connector.sent[2:], []):
        result = shop.run(batch)
    assert "the snapshot has two first or two last rows there" in result.output
    statement = re.search("update [^ ]+ set key = null, value = null where ", result.output)[0]
    shop.project.sql(f"{statement} position <= 2")
    result = shop.run([])
    assert result.success, result.output
    assert shop.has(database)
    # a blocking one of one table, by the task that made the slot
    database, connector = shop.begin(1, 2)
    connector.snapshot(tables={name: database.tables[name] for name in ("bag", "t")})
    connector.snapshot(tables={"t": database.tables["t"]})
    result = shop.run(connector.sent)
    assert "the snapshot has two first or two last rows there" in result.output
    # where one lands again, it has the same text
    database, connector = shop.begin(1, 2)
    connector.snapshot()
    assert shop.run([*connector.sent[:3], *connector.sent]).success
    assert shop.has(database)


# --- events that come again, late, or from elsewhere ----------------------------------------------


@pytest.mark.more
def test_what_comes_again_is_a_copy(shop):
    """Whole transactions, a part of one, one with a restart; and rows of the snapshot."""
    database, connector = shop.begin(1, 2, 3, 4)
    connector.snapshot()
    database.commit(updates(1, 2), ("update", "t", row(3, "first"), row(9, "moved")))
    database.commit(updates(1, 2, old="new", new="newer"))
    connector.stream(events=3)
    connector.restart(1, events=8)
    connector.restart()
    first = connector.sent
    assert shop.run(first).success
    database.commit(updates(4))
    connector.stream()
    again = [e for n, e in enumerate(first) if n % 3]
    assert shop.run([*first, *connector.sent[len(first) :], *again]).success
    assert shop.run(again).success
    assert shop.has(database)


@pytest.mark.more
def test_an_end_that_lands_late(shop):
    """Its events have landed, so all that ended after them waits for it."""
    database, connector = shop.begin(1, 2, 3)
    connector.snapshot()
    late = database.commit(updates(1))
    for n in (2, 3):
        database.commit(updates(n))
    connector.stream()
    is_late = [f'"{late.xid}:{late.end}"' in (e.value or "") for e in connector.sent]
    result = shop.run([e for e, is_end in zip(connector.sent, is_late, strict=True) if not is_end])
    assert result.success
    assert f"transaction {late.xid} waits since" in result.output
    assert "1 event has landed, its END has not, and with it 2 later ones" in result.output
    assert not shop.has(database)
    assert shop.run([connector.sent[is_late.index(True)]]).success
    assert shop.has(database)


@pytest.mark.more
def test_a_transaction_that_lands_late(shop):
    """Nothing of it has landed when a later one is in the log."""
    database, connector = shop.begin(1, 2, 3)
    connector.snapshot()
    late = database.commit(updates(1))
    start = len(connector.sent)
    connector.stream()
    end = len(connector.sent)
    database.commit(updates(2))
    connector.stream()
    assert shop.run([*connector.sent[:start], *connector.sent[end:]]).success
    database.commit(updates(3))
    connector.stream()
    rest = [*connector.sent[start:end], *connector.sent[-3:]]
    name = f"{late.xid}:{late.end}"
    for batch in (rest, []):
        result = shop.run(batch)
        assert not result.success
        assert f"CDC 22859: transaction {name} committed at or below the end of" in result.output
        assert "events landed late, or the LSNs of the source went back" in result.output
        assert f'give vars: {{cdc_give_up_transactions: ["{name}"]}}' in result.output
    given_up = f'{{cdc_give_up_transactions: ["{name}"]}}'
    assert shop.run([], "--vars", given_up).success
    assert not shop.has(database)
    assert shop.run([], "--full-refresh").success
    assert shop.has(database)


@pytest.mark.more
@pytest.mark.parametrize(
    "invented", ["null", '"0.000"', '{"scale":0,"value":"AA=="}', '"1970-01-01Z"', '"00:00:00Z"']
)
def test_deletes_that_tell_the_key_alone(shop, invented):
    """PostgreSQL logs them so unless told otherwise: the rest of the image is invented."""
    database, connector = shop.begin(1, 2, 3)
    connector.snapshot()
    database.commit(("delete", "t", row(1, "first")))
    connector.stream()
    whole = connector.sent
    bare = [
        replace(e, value=e.value.replace('"v": "first"', f'"v": {invented}'))
        if '"op": "d"' in (e.value or "") else e
        for e in whole
    ]  # fmt: skip
    assert bare != whole
    for _ in range(2):
        result = shop.run(bare)
        bare = []
        assert not result.success
        assert "CDC 22859: deletes tell the key alone, and the rows had more: public.t (1)" in (
            result.output
        )
    shop.project.write(
        "models/log.sql", MODEL.replace("'landed')", "'landed'), before_images={'public.t': 'key'}")
    )
    try:
        assert shop.run([]).success
        (deleted,) = shop.project.sql("select * from {schema}.log where operation = 'DELETE'")
        assert json.loads(deleted.before_image) == {"id": 1}
    finally:
        shop.project.write("models/log.sql", MODEL)
    # whole images, also of a row that had no more than its key
    database, connector = shop.begin(1, 2)
    database.commit(("insert", "t", {"id": 9, "v": None}))
    connector.snapshot()
    database.commit(("delete", "t", {"id": 9, "v": None}))
    connector.stream()
    assert shop.run(connector.sent).success
    assert shop.has(database)


def changed(event: Event, **images: Any) -> Event:
    """An event without its key; what `images` gives replaces values of a delete's row."""
    value = json.loads(event.value) if event.value else {}
    if value.get("op") == "d":
        value["before"].update(images)
    if value.get("op") == "u" and images:
        value["before"] = None
    return replace(event, key=None, value=json.dumps(value) if value else None)


@pytest.mark.more
@pytest.mark.parametrize(
    ("ids", "invented"),
    [((1,), None), ((1, 2), None), ((1, 2), "active"), ((1, 2), "")],
)
def test_deletes_that_tell_the_key_alone_where_no_keys_land(shop, ids, invented):
    """Also a changed key's old row. What tells rows apart is what deletes tell of them."""
    database, connector = shop.begin(1, 2, 3)
    connector.snapshot()
    database.commit(updates(3), *(("delete", "t", row(n, "first")) for n in ids))
    database.commit(("update", "t", row(3, "new"), row(4, "new")))
    connector.stream()
    bare = [changed(e, v=invented) for e in connector.sent]
    count = len(ids) + 1
    for events in (bare, []):
        result = shop.run(events)
        says = f"CDC 22859: deletes tell the key alone, and the rows had more: public.t ({count}): "
        assert says + "land keys (" in result.output
    shop.project.write(
        "models/log.sql", MODEL.replace("'landed')", "'landed'), before_images={'public.t': 'key'}")
    )
    try:
        says = "deletes have no key, and before_images names their table: public.t"
        assert f"CDC 22859: {says} ({count}): land keys (" in shop.run([]).output
        shop.project.sql(
            """update {schema}.landed
            set key = concat('{"id":', get_json_object(value, '$.before.id'), '}')
            where get_json_object(value, '$.op') = 'd'"""
        )
        assert shop.run([]).success
        records = shop.project.sql(
            "select * from {schema}.log where before_image is not null and source_name = 't'"
            " order by lsn"
        )
        found = [(r.operation, json.loads(r.before_image)) for r in records]
        assert found == [*(("DELETE", {"id": n}) for n in ids), ("UPDATE", {"id": 3})]
    finally:
        shop.project.write("models/log.sql", MODEL)


@pytest.mark.more
@pytest.mark.parametrize("has_keys", [True, False])
def test_whole_rows_behind_deletes_that_tell_the_key_alone(shop, has_keys):
    """`replica identity full` is for later deletes: those that have landed are what they were."""
    database, connector = shop.begin(1, 2, 3)
    connector.snapshot()
    database.commit(("delete", "t", row(1, "first")))
    connector.stream()
    number = len(connector.sent)
    database.commit(updates(2), ("delete", "t", row(3, "first")))
    connector.stream()
    sent = [changed(e, v=None) for e in connector.sent[:number]]
    sent += [changed(e) for e in connector.sent[number:]]
    if has_keys:
        sent = [replace(e, key=old.key) for e, old in zip(sent, connector.sent, strict=True)]
    for events in (sent[:number], sent[number:]):
        says = "CDC 22859: deletes tell the key alone, and the rows had more: public.t (1)"
        assert says in shop.run(events).output


@pytest.mark.more
def test_whole_deletes_where_no_keys_land(shop):
    """An update tells it, or each is like a row that landed, however JSON in it is written."""
    database, connector = shop.begin(1, 2, 3)
    connector.snapshot()
    database.commit(("insert", "t", row(9, None), row(8, "x")), ("delete", "t", row(9, None)))
    database.commit(("delete", "bag", {"id": 0, "v": "same"}), ("delete", "t", row(8, "x")))
    connector.stream()
    snapshot = [e for e in connector.sent if '"op": "r"' in (e.value or "")]
    written = [replace(e, value=e.value.replace('"first"', '"{\\"v\\": 1}"')) for e in snapshot]
    written += [
        replace(e, value=e.value.replace('"first"', '"{\\"v\\":1}"')) if e.value else e
        for e in connector.sent[len(snapshot) :]
    ]
    assert shop.run([changed(e) for e in written]).success
    shop.start()
    assert shop.run([changed(e) for e in connector.sent]).success
    sent = len(connector.sent)
    database.commit(updates(1, new=None), updates(2))
    database.commit(("delete", "t", row(1, None)))
    connector.stream()
    assert shop.run([changed(e) for e in connector.sent[sent:]]).success
    assert shop.has(database)


def test_deletes_that_tell_the_key_alone_beside_others(shop):
    """What stands in for a value that may not be NULL: 1970, or the column's default, the same in
    each; also where the topics of all tables are one, and another table's deletes are whole."""
    rows = [{"id": n, "at": "2026-05-01T08:00:00Z", "state": f"s{n}"} for n in (1, 2)]
    for invented in (
        {"at": "1970-01-01T00:00:00Z", "state": ""},
        {"at": "2000-01-01T00:00:00Z", "state": "active"},
    ):
        shop.start()
        database = Database(["t", "other"], ["t", "other"])
        database.commit(("insert", "t", *rows), ("insert", "other", {"id": 1, "v": "x"}))
        connector = Connector(database)
        connector.snapshot()
        database.commit(("delete", "t", *rows), ("delete", "other", {"id": 1, "v": "x"}))
        connector.stream()
        sent = [replace(e, topic="pg.all") for e in connector.sent]
        bare = []
        for event in sent:
            value = json.loads(event.value) if event.value else {}
            if value.get("op") == "d" and value["source"]["table"] == "t":
                value["before"].update(invented)
                event = replace(event, value=json.dumps(value))
            bare.append(event)
        assert bare != sent
        shop.start()
        result = shop.run(bare)
        assert not result.success
        message = "CDC 22859: deletes tell the key alone, and the rows had more: public.t (2)"
        assert message in result.output
        shop.start()
        assert shop.run(sent).success
        assert shop.has(database)


@pytest.mark.more
@pytest.mark.parametrize("how", ["begin anew", "come again", "fill a hole"])
def test_positions_that_are_passed(shop, how):
    """What lands at positions that the log has read beyond is never read: only copies may."""
    database, connector = shop.begin(1, 2, 3)
    connector.snapshot()
    shop.landed = 10
    parts = []
    for number in (1, 2, 3):
        start = len(connector.sent)
        database.commit(updates(number))
        connector.stream()
        parts.append(connector.sent[start:])
    snapshot = connector.sent[: -sum(map(len, parts))]
    assert shop.run(snapshot).success
    assert shop.run(parts[0]).success
    end = shop.landed
    shop.landed = {"begin anew": 10, "fill a hole": 0, "come again": 10}[how]
    if how == "come again":
        shop.land(snapshot)
        shop.landed = end
        assert shop.run(parts[1]).success and shop.run(parts[2]).success
        assert shop.has(database)
    else:
        for batch in (parts[1][:3], []):
            result = shop.run(batch)
            assert not result.success
            assert "CDC 22859: 3 events landed at or below position" in result.output
            assert "positions only go on" in result.output


def in_parts(shop):
    """A new database, its connector, and what that has sent: a snapshot, then three updates."""
    database, connector = shop.begin(1, 2, 3)
    connector.snapshot()
    parts = [connector.sent[:]]
    for number in (1, 2, 3):
        start = len(connector.sent)
        database.commit(updates(number))
        connector.stream()
        parts.append(connector.sent[start:])
    return database, connector, parts


@pytest.mark.more
@pytest.mark.parametrize("runs", [1, 2])
def test_what_another_writer_lands_late(shop, runs):
    """Its rows were not there when the log read on behind them; what waits is read again."""
    database, connector, parts = in_parts(shop)
    snapshot, first, (begin, change, end), third = parts
    shop.land(snapshot)
    assert runs == 1 or shop.run([]).success
    shop.land(first)
    shop.landed -= len(first)
    shop.land(first)  # these are there twice
    shop.land([begin])
    hole = shop.landed
    shop.landed += 1
    shop.land([end])
    assert shop.run(third).success
    last, shop.landed = shop.landed, hole
    assert shop.run([change]).success
    assert shop.has(database)
    shop.landed = hole - 1  # a copy hides no other event
    shop.land([begin])
    assert shop.run([]).success
    shop.landed = last + 3
    database.commit(updates(1, old="new", new="newer"))
    connector.stream()
    assert shop.run(connector.sent[-3:]).success
    shop.landed = last
    late = connector.sent[-3:]
    for batch in (late, []):
        result = shop.run(batch)
        assert not result.success
        assert f"events landed at or below position {last + 6} of" in result.output


@pytest.mark.more
def test_what_lands_late_beside_removed_events(shop):
    """Old events may go from the lowest position on: they hide no late one, and stop nothing."""
    database, _, parts = in_parts(shop)
    snapshot, first, second, third = parts
    for batch in (snapshot, first):
        assert shop.run(batch).success
    hole = shop.landed
    shop.landed += 10
    assert shop.run(second).success
    end = shop.landed
    remove = "delete from {schema}.landed where position <= "
    shop.project.sql(f"{remove}{len(snapshot) - 1}")
    shop.landed = hole + 10
    assert shop.run(second).success  # these are there twice
    shop.landed = end
    assert shop.run(third).success
    assert shop.has(database)
    shop.project.sql(f"{remove}{len(snapshot) + 1}")
    shop.landed = hole
    for batch in (second[:2], []):
        result = shop.run(batch)
        assert not result.success
        assert "CDC 22859: 2 events landed at or below position" in result.output
    # beside others that are removed, below the lowest one that there was
    shop.project.sql(f"{remove}{hole + 2}")
    shop.landed = 0
    result = shop.run(second[:1])
    assert "CDC 22859: 1 events landed at or below position" in result.output, result.output


@pytest.mark.more
def test_events_that_land_behind_their_transaction(shop):
    """The first events of a transaction with a restart: its END counts the others only."""
    database, connector = shop.begin(1, 2, 3)
    connector.snapshot()
    rows = [{"id": n, "v": "same"} for n in (7, 8)]
    done = database.commit(("insert", "bag", *rows), updates(1, 2, 3))
    start = len(connector.sent)
    connector.stream(events=3)
    middle = len(connector.sent)
    connector.restart()
    sent = connector.sent
    assert shop.run([*sent[:start], *sent[middle:]]).success
    result = shop.run(sent[start:middle])
    assert not result.success
    assert f"CDC 22859: events of transaction {done.xid}:{done.end} landed when" in result.output
    assert "no change of the same place and images: public.bag" in result.output
    assert shop.run([], "--full-refresh").success
    assert shop.has(database)


@pytest.mark.more
def test_equal_rows_where_the_connector_restarts(shop):
    """Nothing tells whether a row without a key is one of several, or was sent again."""
    database, connector = shop.begin(1, 2, 3)
    connector.snapshot()
    database.commit(("insert", "bag", *[{"id": 7, "v": "same"}] * 3), updates(1, 2, 3))
    connector.stream(events=4)
    database.commit(updates(1, old="new", new="after"))
    connector.restart()
    result = shop.run(connector.sent)
    assert not result.success
    assert "events number 1 and 2 are equal rows of public.bag, which has no key" in result.output


@pytest.mark.more
def test_lsns_that_go_back(shop):
    """A restored backup writes other changes at positions that the log has passed."""
    database, connector = shop.begin(1, 2, 3)
    connector.snapshot()
    database.commit(updates(1))
    connector.stream()
    assert shop.run(connector.sent).success
    database.restore(5000)
    restored = database.commit(updates(2))
    start = len(connector.sent)
    connector.stream()
    result = shop.run(connector.sent[start:])
    assert not result.success
    assert f"transaction {restored.xid}:{restored.end} committed at or below" in result.output
    assert "give its events a log and a schema of their own" in result.output
    shop.start()
    result = shop.run(connector.sent)
    assert not result.success
    assert f"transaction {restored.xid}:{restored.end}: it landed behind a trans" in result.output


def test_events_of_another_database(shop):
    """In the first batch, or in a later one; another database, or another connector."""
    for name, prefix, is_first in (("e", "pg", True), ("e", "pg", False), ("d", "other", False)):
        database, connector = shop.begin(1, 2)
        connector.snapshot()
        other = Database(["t"], ["t"], name=name)
        other.lsn = 20_000_000
        other.commit(("insert", "t", row(7, "other")))
        foreign = Connector(other, name=prefix)
        foreign.stream()
        if is_first:
            result = shop.run([*connector.sent, *foreign.sent])
        else:
            database.commit(updates(1))
            connector.stream()
            assert shop.run(connector.sent).success
            result = shop.run(foreign.sent)
        assert not result.success
        assert f"it comes from {prefix}.{name}, and the log is of pg.d" in result.output


@pytest.mark.more
def test_the_topic_of_transactions_does_not_land(shop):
    database, connector = shop.begin(1, 2)
    connector.snapshot()
    database.commit(updates(1))
    database.commit(updates(2))
    connector.stream()
    result = shop.run([e for e in connector.sent if not e.topic.endswith(".transaction")])
    assert result.success
    assert "transactions without END: 2." in result.output
    assert "provide.transaction.metadata=true" in result.output
    test = shop.project.dbt("test", "--select", "waiting_transactions")
    assert "Got 2 results" in test.output
    assert shop.run([e for e in connector.sent if e.topic.endswith(".transaction")]).success
    assert shop.has(database)
    assert shop.project.dbt("test", "--select", "waiting_transactions").success


@pytest.mark.more
def test_transaction_ids_without_a_position(shop):
    """As Debezium 1 writes them."""
    _, connector = shop.begin(1)
    connector.stream()
    old = [
        replace(e, value=re.sub(r"(\"id\": \"[0-9]+):[0-9]+", r"\1", e.value or ""))
        for e in connector.sent
    ]
    result = shop.run(old)
    assert not result.success
    assert "its transaction id 501 has no LSN: read PostgreSQL, no other source" in result.output
    shop.project.clear()
    ends = [replace(e, value=(e.value or "").replace("event_count", "n")) for e in connector.sent]
    assert "has no event_count: land the events as the connector" in shop.run(ends).output


# --- snapshots after the first --------------------------------------------------------------------


def missed(shop: Shop) -> tuple[Database, Connector, int]:
    """A log that is captured; then changes that the connector never sends, and a snapshot."""
    database, connector = shop.begin(1, 2, 3, 4)
    connector.snapshot()
    database.commit(updates(1), ("update", "t", row(4, "first"), row(5, "moved")))
    connector.stream()
    start = len(connector.sent)
    assert shop.run(connector.sent).success
    database.commit(
        updates(2), ("insert", "t", row(7, "missed"), row(8, "missed")),
        ("delete", "t", row(3, "first")),
        ("insert", "bag", {"id": 0, "v": "same"}, {"id": 1, "v": "missed"}),
    )  # fmt: skip
    connector.snapshot()
    database.commit(updates(1, old="new", new="after"))
    connector.stream()
    return database, connector, start


@pytest.mark.more
def test_a_later_snapshot_with_the_same_rows(shop):
    """In a batch of its own, cut in its middle, and beside keys that pass over each other and equal
    rows."""
    database, connector = shop.begin(1, 2, 3)
    connector.snapshot()
    moves = [(1, "first", 2), (2, "first", 3), (3, "first", 9), (9, "first", 4)]
    rows = [image for old, v, new in moves for image in (row(old, v), row(new, v))]
    database.commit(("update", "t", *rows))
    database.commit(updates(2), ("delete", "t", row(3, "first")))
    connector.stream()
    assert shop.run(connector.sent).success
    start = len(connector.sent)
    connector.snapshot()
    result = shop.run(connector.sent[start : start + 2])
    assert result.success
    assert "the last row of the snapshot has not landed" in result.output
    database.commit(updates(2, old="new", new="newer"))
    connector.stream()
    result = shop.run(connector.sent[start + 2 :])
    assert result.success, result.output
    assert "waits" not in result.output
    assert shop.has(database) and shop.is_balanced()
    assert shop.run(connector.sent[start : start + 3]).success
    assert shop.run([], "--full-refresh").success
    assert shop.has(database) and shop.is_balanced()


@pytest.mark.more
@pytest.mark.parametrize("choice", ["take", "anew"])
def test_a_later_snapshot_with_other_rows(shop, choice):
    database, connector, start = missed(shop)
    result = shop.run(connector.sent[start:])
    assert not result.success
    assert (
        "has other rows than the tables by the log: public.bag (2 missing in the log), public.t"
        " (2 missing in the log, 1 other in the log, 1 in the log alone): changes were missed"
    ) in result.output
    chosen = ["--vars", f"{{cdc_later_snapshots: {choice}}}"]
    assert shop.run([], *chosen).success
    assert shop.has(database) and shop.is_balanced()
    truncates = shop.project.table("log").where("operation = 'TRUNCATE'").count()
    assert truncates == (2 if choice == "anew" else 0)
    assert shop.run([]).success
    if choice == "take":
        assert shop.run([], "--full-refresh", *chosen).success
        assert shop.has(database) and shop.is_balanced()


def typed(event: Event, scale: int) -> Event:
    """With a schema, as of `alter table t alter v type decimal(.., scale)`."""
    name = "org.apache.kafka.connect.data.Decimal"
    field = {"field": "v", "type": "bytes", "name": name, "parameters": {"scale": str(scale)}}
    schema = {"fields": [{"field": "after", "fields": [field]}]}
    value = json.loads(event.value) if event.value else {}
    if "op" not in value:
        return event
    return replace(event, value=json.dumps({"schema": schema, "payload": value}))


@pytest.mark.more
def test_a_later_snapshot_of_values_that_are_written_otherwise(shop):
    """A record has one encoding for both images."""
    database, connector = shop.begin(1, 2)
    connector.snapshot()
    database.commit(updates(1))
    connector.stream()
    start = len(connector.sent)
    assert shop.run([typed(e, 2) for e in connector.sent]).success
    database.commit(updates(2))
    connector.snapshot()
    database.commit(updates(1, old="new", new="after"))
    connector.stream()
    says = "public.t (1 other in the log, 1 of them in values that are written in another way since"
    assert says in shop.run([typed(e, 4) for e in connector.sent[start:]]).output
    assert shop.run([], "--vars", "{cdc_later_snapshots: take}").success
    assert shop.has(database)
    found = shop.project.sql(
        """select operation, coalesce(before_image, after_image) as image, encodings
        from {schema}.log
        where tran_id = 'snapshot' and source_name is not null order by lsn desc limit 2"""
    )
    assert [(r.operation, json.loads(r.image)["v"], r.encodings[-4:-1]) for r in found] == [
        ("INSERT", "new", '4)"'),
        ("DELETE", "first", '2)"'),
    ]


@pytest.mark.more
def test_a_later_snapshot_of_a_log_that_was_cut(shop):
    """What is left of the log is not the tables: nothing is compared, nor taken for new."""
    database, connector, start = missed(shop)
    shop.cut()
    for choice, events in (("compare", connector.sent[start:]), ("take", [])):
        result = shop.run(events, "--vars", f"{{cdc_later_snapshots: {choice}}}")
        assert not result.success
        assert "no longer reaches back to the beginning of public.bag, public.t" in result.output
    anew = ["--vars", "{cdc_later_snapshots: anew}"]
    assert shop.run([], *anew).success
    assert shop.project.table("log").where("operation = 'TRUNCATE'").count() == 2
    assert shop.has(database)
    start = len(connector.sent)
    connector.snapshot()
    database.commit(updates(2, old="new", new="newer"))
    connector.stream()
    result = shop.run(connector.sent[start:])
    assert result.success, result.output
    assert shop.has(database)


@pytest.mark.more
def test_a_later_snapshot_of_a_new_column(shop):
    """As of `alter table t add column c int default 5`, which sends no event."""
    database, connector = shop.begin(1, 2)
    connector.snapshot()
    database.commit(("insert", "t", row(3, "new")))
    connector.stream()
    assert shop.run(connector.sent).success
    start = len(connector.sent)
    connector.snapshot()
    database.commit(updates(3, old="new", new="newer"))
    connector.stream()
    filled = [
        replace(event, value=event.value.replace('"after": {', '"after": {"c": 5, '))
        if event.value and '"op": "r"' in event.value and event.topic.endswith(".t")
        else event
        for event in connector.sent[start:]
    ]
    result = shop.run(filled)
    assert "other rows than the tables by the log: public.t (3 other in the log)" in result.output
    assert shop.run([], "--vars", "{cdc_later_snapshots: take}").success
    log = shop.project.table("log").where("operation = 'UPDATE' and tran_id = 'snapshot'").collect()
    assert [json.loads(record.after_image)["c"] for record in log] == [5, 5, 5]


@pytest.mark.more
@pytest.mark.parametrize("has_seen", [True, False])
def test_a_later_snapshot_beside_a_transaction(shop, has_seen):
    """What was committed right before its LSN is streamed behind it, whether it has seen it."""
    database, connector = shop.begin(1, 2, 3)
    connector.snapshot()
    database.commit(updates(1))
    connector.stream()
    before = deepcopy(database.tables)
    database.commit(
        updates(2), ("insert", "t", row(4, "x")), ("delete", "t", row(3, "first")),
        ("insert", "bag", {"id": 0, "v": "same"}), ("insert", "bag", {"id": 1, "v": "other"}),
    )  # fmt: skip
    connector.snapshot(tables=None if has_seen else before, resume_at=2)
    middle = len(connector.sent)
    connector.stream()
    database.commit(updates(4, old="x", new="y"))
    connector.stream()
    assert shop.run(connector.sent[:middle]).success
    assert "no transaction behind the snapshot has landed" in shop.run([]).output
    assert shop.run(connector.sent[middle:]).success
    assert shop.has(database) and shop.is_balanced()


@pytest.mark.more
@pytest.mark.parametrize("has_seen", [True, False])
def test_a_table_that_begins_anew_beside_a_transaction(shop, has_seen):
    """Its keys are as the transaction left them; of a table without a key nothing tells."""
    database, connector = shop.begin(1, 2, 3, 5)
    connector.snapshot()
    database.commit(updates(1))
    connector.stream()
    before = deepcopy(database.tables)
    database.commit(
        updates(2), ("insert", "t", row(4, "x")), ("delete", "t", row(3, "first")),
        ("update", "t", row(5, "first"), row(6, "moved")),
    )  # fmt: skip
    connector.snapshot(tables=None if has_seen else before, resume_at=2)
    connector.stream()
    database.commit(updates(4, old="x", new="y"))
    connector.stream()
    anew = ["--vars", "{cdc_later_snapshots: anew}"]
    result = shop.run(connector.sent, *anew)
    assert result.success, result.output
    assert shop.has(database) and shop.is_balanced()
    start, before = len(connector.sent), deepcopy(database.tables)
    database.commit(("insert", "bag", {"id": 1, "v": "other"}))
    connector.snapshot(tables=None if has_seen else before, resume_at=4)
    connector.stream()
    database.commit(updates(4, old="y", new="z"))
    connector.stream()
    result = shop.run(connector.sent[start:], *anew)
    assert "cannot begin public.bag anew: changes that committed right before" in result.output
    assert shop.run([], "--vars", "{cdc_later_snapshots: take}").success
    assert shop.has(database) and shop.is_balanced()


@pytest.mark.more
def test_a_snapshot_of_a_log_that_began_without_one(shop):
    """It is not before what was streamed; rows that it alone has are told."""
    database, connector = shop.begin(1, 2, 3)
    connector.stream()
    connector.sent.clear()
    database.commit(updates(1))
    connector.stream()
    connector.snapshot()
    database.commit(updates(2))
    connector.stream()
    ends = [e for e in connector.sent if e.topic.endswith(".transaction")]
    result = shop.run([e for e in connector.sent if e not in ends])
    assert result.success
    assert shop.project.table("log").count() == 0
    result = shop.run(ends)
    assert "public.t (2 missing in the log)" in result.output
    assert shop.run([], "--vars", "{cdc_later_snapshots: take}").success
    assert shop.project.table("log").where("tran_id = 'snapshot'").first().lsn > "0x000000000101"
    rows: dict[int, str] = {}
    for record in shop.project.table("log").where("source_name = 't'").orderBy("lsn").collect():
        if record.before_image:
            rows.pop(json.loads(record.before_image)["id"], None)
        if record.after_image:
            rows[json.loads(record.after_image)["id"]] = record.after_image
    assert [json.loads(image) for _, image in sorted(rows.items())] == database.tables["t"]


@pytest.mark.more
def test_a_later_snapshot_that_is_given_up(shop):
    """By its own name: `snapshot` is the first one."""
    database, connector, start = missed(shop)
    first = '{cdc_give_up_transactions: ["snapshot"]}'
    result = shop.run(connector.sent[start:], "--vars", first)
    name = re.search(r'"(snapshot:[0-9]+)"', result.output)[1]
    given_up = f'{{cdc_give_up_transactions: ["{name}"]}}'
    assert shop.run([], "--vars", given_up).success
    assert not shop.has(database)


@pytest.mark.more
def test_a_table_that_a_later_snapshot_brings(shop):
    """It is new to the connector: its rows are its first content."""
    database, connector = shop.begin(1, 2)
    connector.snapshot()
    database.commit(updates(1))
    connector.stream()
    assert shop.run(connector.sent).success
    start = len(connector.sent)
    database.tables["new"] = []
    database.keyed.add("new")
    database.commit(("insert", "new", row(1, "a"), row(2, "b")))
    connector.snapshot()
    database.commit(("update", "new", row(1, "a"), row(1, "c")))
    connector.stream()
    assert shop.run(connector.sent[start:]).success
    assert shop.has(database) and shop.is_balanced()


@pytest.mark.more
def test_rows_of_a_later_snapshot_that_land_late(shop):
    """The log is past the snapshot without them."""
    _, connector, start = missed(shop)
    taken = ["--vars", "{cdc_later_snapshots: take}"]
    rest = connector.sent[start:]
    assert shop.run([*rest[:1], *rest[2:]], *taken).success
    result = shop.run(rest[1:2], *taken)
    assert not result.success
    assert "rows of the snapshot landed when the log was past it" in result.output
    assert "public.t (1)" in result.output
