"""Debezium's MySQL connector, whose events tell places in the binary log."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from harness import Project
from pyspark.sql import SparkSession
from reference import stories
from reference.debezium import Event
from reference.source import BinlogConnector, Database
from reference.stories import Story
from test_debezium_faults import MODEL, SOURCE, Shop, row, updates
from test_debezium_stories import Statement, has_the_truth, seeds, wrong_stories

pytestmark = [pytest.mark.slow, pytest.mark.more]


@pytest.fixture(scope="module")
def shop(make_project: Callable[..., Project], spark: SparkSession) -> Shop:
    model = MODEL.replace("'landed')", "'landed'), connector='mysql'")
    models = {"log.sql": model, "sources.yml": SOURCE}
    return Shop(make_project(models=models, vars={"cdc_log_model": "log"}), spark)


def begin(shop: Shop, *rows: int, metadata: bool = True) -> tuple[Database, BinlogConnector]:
    database, _ = shop.begin(*rows)
    connector = BinlogConnector(database, "my", metadata=metadata)
    connector.snapshot()
    return database, connector


def schema_change(
    connector: BinlogConnector,
    ddl: str,
    kind: str,
    ids: list[str],
    is_snapshot: bool = False,
    table: str = "",
    source: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """What the connector sends to its topic of schema changes; the source of the event, which
    those of one statement share."""
    database = connector.database
    if source is None:
        database.xid += 1
        mark = str(is_snapshot).lower()
        source = connector._source(table, database.next_lsn(), database.clock, 0, mark)
        source |= {"gtid": f"0-77-{database.xid}"}
    columns = [{"name": "id", "typeExpression": "INT", "length": None, "scale": None}]
    table = None if kind == "DROP" else {"primaryKeyColumnNames": ["id"], "columns": columns}
    changes = [{"type": kind, "id": name, "table": table} for name in ids]
    value = {"source": source, "ts_ms": 1, "databaseName": "public", "ddl": ddl}
    connector._send("", {"databaseName": "public"}, {**value, "tableChanges": changes}, (0, 0))
    if connector.metadata:  # a DDL gets a BEGIN, and never an END
        begin = {"status": "BEGIN", "id": source["gtid"], "ts_ms": 1, "event_count": None}
        connector._send("transaction", {"id": source["gtid"]}, begin, (0, 0))
    return source


def ddl_of(shop: Shop) -> list[tuple[Any, ...]]:
    return [
        (r.source_name, r.ddl_command, r.after_image)
        for r in shop.project.sql(
            "select * from {schema}.log where operation = 'DDL' order by lsn, source_name"
        )
    ]


@pytest.mark.parametrize("metadata", [True, False])
def test_schema_changes_and_truncates(shop: Shop, metadata: bool) -> None:
    database, connector = begin(shop, 1, 2, metadata=metadata)
    schema_change(connector, "create database x", "CREATE", [], is_snapshot=True)
    schema_change(connector, "alter table t add column v int", "ALTER", ['"public"."t"'])
    database.commit(updates(1))
    connector.stream()
    schema_change(connector, "drop table a, b", "DROP", ['"public"."a"', '"public"."b"'])
    schema_change(connector, "set names utf8", "ALTER", [])
    connector.beat()
    assert shop.run(connector.sent).success
    assert shop.has(database)
    assert shop.is_balanced()
    assert ddl_of(shop) == [
        ("t", "alter table t add column v int", '[{"name":"id","type":"int"}]'),
        ("a", "drop table a, b", None),
        ("b", "drop table a, b", None),
    ]
    assert shop.run(connector.sent[-4:]).success  # copies
    assert len(ddl_of(shop)) == 3
    late = replace(connector.sent[-3 if not metadata else -5], position=0)
    assert late.value is not None and "drop table" in late.value
    result = shop.run([replace(late, value=late.value.replace("drop table a, b", "drop b, a"))])
    assert "landed when the log had it" in result.output, result.output


RENAMES = [
    # the statement, the new name
    ("RENAME /* tool */ TABLE `t` TO `_t_old`", '"public"."_t_old"'),
    ("RENAME /* tool */ TABLE `_t_new` TO `t`", '"public"."t"'),
    ("/* all */ alter /* it */ online table t\n rename to u", '"public"."u"'),
    ("ALTER TABLE if exists public.`a b`\tRENAME u", '"public"."u"'),
    ('alter table other."c.d" rename e', '"public"."e"'),
    ("alter table t rename column v to w", '"public"."t"'),
]


@pytest.mark.parametrize("metadata", [True, False])
def test_a_renamed_table_has_a_record_under_either_name(shop: Shop, metadata: bool) -> None:
    """The clauses of one RENAME are events of one place: the table that takes a name comes last."""
    _, connector = begin(shop, 1, metadata=metadata)
    source = None
    for number, (statement, name) in enumerate(RENAMES):
        source = schema_change(
            connector, statement, "ALTER", [name], source=source if number == 1 else None
        )
    connector.beat()
    assert shop.run(connector.sent).success
    assert shop.is_balanced()
    image = '[{"name":"id","type":"int"}]'
    away, taken, *alters = (statement for statement, _ in RENAMES)
    named = shop.project.sql(
        "select * from {schema}.log where operation = 'DDL' order by lsn, source_name"
    )
    found = [(r.source_schema, r.source_name, r.ddl_command, r.after_image) for r in named]
    assert found == [
        ("public", "_t_new", taken, None),
        ("public", "t", away, None),
        ("public", "_t_old", away, image),
        ("public", "t", taken, image),
        ("public", "t", alters[0], None),
        ("public", "u", alters[0], image),
        ("public", "a b", alters[1], None),
        ("public", "u", alters[1], image),
        ("other", "c.d", alters[2], None),
        ("public", "e", alters[2], image),
        ("public", "t", alters[3], image),
    ]
    assert named[1].tran_id == named[3].tran_id
    assert shop.run(connector.sent).success  # copies
    assert len(ddl_of(shop)) == len(found)


@pytest.mark.parametrize(
    "statement", ["rename table t to archive.t", "alter table t rename archive.t"]
)
def test_a_table_that_moves_to_another_database(shop: Shop, statement: str) -> None:
    """From which is in the statement alone, or in nothing that the event tells."""
    _, connector = begin(shop, 1)
    schema_change(connector, statement, "ALTER", ['"archive"."t"'])
    connector.beat()
    result = shop.run(connector.sent)
    assert "does not tell from which: " + statement in result.output, result.output
    shop.project.sql(
        "update {schema}.landed set value = replace(value, 'table t', 'table public.t')"
    )
    assert shop.run([]).success
    log = shop.project.sql("select * from {schema}.log where operation = 'DDL' order by lsn")
    assert [(r.source_schema, r.source_name) for r in log] == [("public", "t"), ("archive", "t")]


@pytest.mark.parametrize("is_first", [True, False])
def test_an_event_with_its_number_and_without(shop: Shop, is_first: bool) -> None:
    """Metadata is switched on or off, and the connector sends its last transaction again."""
    database, connector = begin(shop, 1, 2, metadata=is_first)
    other = BinlogConnector(database, "my", metadata=not is_first)
    other.next_transaction = connector.next_transaction
    database.commit(updates(1), ("insert", "t", row(5, "a")))
    for each in (connector, other):
        each.stream()
    database.commit(updates(2))
    other.stream()
    other.beat()
    assert shop.run([*connector.sent, *other.sent]).success
    assert shop.has(database)


def test_a_failover_to_a_file_of_the_same_number(shop: Shop) -> None:
    """Inside a transaction: the new server sends it from its beginning, at other places."""
    database, connector = begin(shop, 1, 2, 3)
    database.commit(updates(1, 2, 3))
    start = len(connector.sent)
    connector.stream()
    again = [
        replace(
            e, value=re.sub(r'"pos": ?(\d+)', lambda m: f'"pos": {int(m[1]) + 50}', e.value or "")
        )
        for e in connector.sent[start:]
    ]
    result = shop.run([*connector.sent[: start + 3], *again])
    assert "the connector has gone to another server (a failover)" in result.output, result.output


def test_a_before_image_that_leaves_out_values(shop: Shop) -> None:
    database, connector = begin(shop, 1)
    database.commit(updates(1))
    connector.stream()
    left_out = '"v": "__debezium_unavailable_value"'
    events = [
        replace(e, value=re.sub(r'"v": "[^"]*"', left_out, e.value))
        if e.value and '"op": "u"' in e.value
        else e
        for e in connector.sent
    ]
    result = shop.run(events)
    assert "its before image leaves out values: set binlog_row_image=FULL" in result.output


def test_ddl_that_empties_tables_without_telling_them_is_refused(shop: Shop) -> None:
    statements = ["DROP /* all */ DATABASE `public`", "create or replace table t (id int)"]
    for statement in statements:
        _, connector = begin(shop, 1)
        schema_change(connector, statement, "DROP", [], is_snapshot=True)
        assert shop.run(connector.sent).success
        connector.sent.clear()
        schema_change(connector, statement, "DROP", [])
        result = shop.run(connector.sent)
        assert f"its tableChanges do not tell which: {statement}" in result.output, result.output
        # as the error says
        assert r'{"type": "DROP", "id": "\"shop\".\"orders\""}' in result.output
        told = [{"type": "DROP", "id": '"public"."t"'}]
        shop.project.sql(
            "update {schema}.landed set value = replace(value, '"
            f'"tableChanges": []\', \'"tableChanges": {json.dumps(told)}\')'.replace("\\", r"\\")
        )
        connector.sent.clear()
        connector.beat()
        assert shop.run(connector.sent).success
        assert ddl_of(shop) == [("t", statement, None)]


def test_a_key_change_without_keys_and_metadata(shop: Shop) -> None:
    """As files without keys and headers land it: a delete and an insert of one place."""
    database, connector = begin(shop, 1, 2, metadata=False)
    database.commit(("update", "t", row(1, "first"), row(3, "first")), updates(2))
    connector.stream()
    connector.beat()
    assert shop.run([replace(e, key=None, headers=None) for e in connector.sent]).success
    assert shop.has(database)
    changes = shop.project.sql(
        "select operation from {schema}.log where tran_id <> 'snapshot' and source_name = 't'"
        " order by lsn"
    )
    assert [change.operation for change in changes] == ["DELETE", "INSERT", "UPDATE"]


def test_a_later_snapshot_behind_a_ddl(shop: Shop) -> None:
    """A DDL is no row of its table."""
    database, connector = begin(shop, 1, 2)
    database.commit(updates(1))
    connector.stream()
    schema_change(connector, "alter table t add c int", "ALTER", ['"public"."t"'])
    database.next_lsn()  # a snapshot tells where the log ends, a statement where it begins
    connector.snapshot()
    database.commit(updates(2))
    connector.stream()
    connector.beat()
    result = shop.run(connector.sent)
    assert result.success, result.output
    assert shop.has(database)


def test_a_truncate_is_a_transaction_by_itself(shop: Shop) -> None:
    database, connector = begin(shop, 1, 2)
    database.commit(("truncate", "t"))
    connector.stream()
    # its END is never sent, nor does its event tell a transaction
    events = [e for e in connector.sent if '"status": "END"' not in (e.value or "")]
    database.commit(("insert", "t", row(7, "new")))
    sent = len(connector.sent)
    connector.stream()
    assert shop.run(
        [
            replace(e, value=e.value.replace('"transaction": {', '"no": {'))
            if e.value and '"op": "t"' in e.value
            else e
            for e in [*events, *connector.sent[sent:]]
        ]
    ).success
    assert shop.has(database)
    assert shop.is_balanced()


@pytest.mark.parametrize("event", ["none", "beside", "later"])
def test_a_truncate_in_the_topic_of_schema_changes(shop: Shop, event: str) -> None:
    """The topic of the table has none where the connector skips it, as it does by default."""
    database, connector = begin(shop, 1, 2)
    statement = "truncate t" if event == "beside" else "/* all */ -- rows\n TRUNCATE TABLE `t`"
    source = schema_change(connector, statement, "ALTER", [], table="t")
    skipped = {"op": "t", "source": source, "before": None, "after": None, "ts_ms": 1}
    if event == "beside":
        connector._send("public.t", None, {**skipped, "transaction": None}, (0, 0))
    database.tables["t"].clear()
    database.commit(("insert", "t", row(7, "new")))
    connector.next_transaction = 1
    connector.stream()
    assert shop.run(connector.sent).success
    assert shop.has(database)
    assert shop.is_balanced()
    if event == "later":
        connector.sent.clear()
        connector._send("public.t", None, {**skipped, "transaction": None}, (0, 0))
        assert shop.run(connector.sent).success
    truncates = "select * from {schema}.log where operation = 'TRUNCATE'"
    assert len(shop.project.sql(truncates)) == 1


def test_a_truncate_of_an_unknown_table_is_refused(shop: Shop) -> None:
    _, connector = begin(shop, 1)
    schema_change(connector, "truncate t", "ALTER", [])
    result = shop.run(connector.sent)
    assert "it is a TRUNCATE, and its source does not tell the table" in result.output
    assert "skipped.operations=none" in result.output


def test_transactions_without_events_are_passed_over(shop: Shop) -> None:
    """BEGIN and END of what changed tables that the connector does not read."""
    database, connector = begin(shop, 1)
    for _ in range(2):
        database.commit()
    database.commit(updates(1))
    connector.stream()
    for event in connector.sent:
        assert shop.run([event]).success
    assert shop.has(database)
    assert shop.is_balanced()
    assert not shop.project.sql("select * from {schema}.waiting_transactions")


def test_an_end_waits_for_its_events_and_comes_again_alone(shop: Shop) -> None:
    database, connector = begin(shop, 1, 2)
    database.commit(updates(1))
    start = len(connector.sent)
    connector.stream()
    database.commit(updates(2))
    later = len(connector.sent)
    connector.stream()
    first, second = connector.sent[start:later], connector.sent[later:]
    assert shop.run([*connector.sent[:start], first[0], first[-1]]).success
    assert shop.project.sql("select * from {schema}.waiting_transactions")
    assert shop.run(second).success  # behind it: they wait
    assert shop.run(first[1:-1]).success
    assert shop.has(database)
    assert shop.run([first[-1], second[0], second[-1]]).success
    assert shop.has(database)
    assert shop.is_balanced()
    assert not shop.project.sql("select * from {schema}.waiting_transactions")


@pytest.mark.parametrize("unacknowledged", [0, 2])
@pytest.mark.parametrize("missing", [[-2, -3], [-3]])
def test_an_end_behind_a_restart_waits(shop: Shop, unacknowledged: int, missing: list[int]) -> None:
    """It counts the events since then; fewer have landed than before it."""
    database, connector = begin(shop, *range(1, 7))
    database.commit(updates(*range(1, 7)))
    connector.stream(events=5)  # BEGIN and four changes
    connector.restart(unacknowledged)
    database.commit(updates(1, old="new", new="newer"))
    connector.stream()
    ended = next(n for n, e in enumerate(connector.sent) if '"END"' in (e.value or ""))
    late = [connector.sent[ended + 1 + place] for place in missing]
    assert shop.run([event for event in connector.sent if event not in late]).success
    (waiting, *_) = shop.project.sql("select * from {schema}.waiting_transactions")
    assert waiting.reason, waiting
    assert {record.tran_id for record in shop.project.table("log").collect()} == {"snapshot"}
    assert shop.run(late).success
    assert shop.has(database)
    assert shop.is_balanced()


@pytest.mark.parametrize("metadata", [True, False])
def test_copies_of_a_part_of_a_transaction(shop: Shop, metadata: bool) -> None:
    database, connector = begin(shop, *range(1, 7), metadata=metadata)
    start = len(connector.sent)
    database.commit(updates(*range(1, 7)))
    database.commit(("insert", "bag", *[row(7, "same")] * 3))
    connector.stream()
    connector.beat()
    assert shop.run(connector.sent).success
    assert shop.run(connector.sent[start + 2 : start + 4]).success
    assert shop.has(database)
    other = connector.sent[start + 2]
    assert other.value
    result = shop.run([replace(other, value=other.value.replace("new", "odd"))])
    assert "it has no change of the same place and images" in result.output, result.output


def compressed(events: list[Event]) -> list[Event]:
    """All events of a transaction have the place of the whole; rows count from 0 in each of its
    row events, here of one position."""
    found = []
    for event in events:
        value = json.loads(event.value or "null")
        if value and value.get("op") in ("c", "u", "d"):
            value["source"] |= {"pos": 4}
        found.append(replace(event, value=value and json.dumps(value)))
    return found


def test_compressed_transactions(shop: Shop) -> None:
    """The connector's numbers tell their order; where there are none, it is said."""
    for metadata in (True, False):
        database, connector = begin(shop, 1, 2, metadata=metadata)
        database.lsn += 1_000_000 - database.lsn % 100_000
        start = len(connector.sent)
        database.commit(
            ("insert", "t", row(7, "new"), row(8, "new")),
            ("delete", "t", row(7, "new")),
            updates(8, 2, old="new", new="newer")[:4],
            ("insert", "t", row(7, "anew")),
            ("insert", "bag", *[row(7, "same")] * 2),
            ("insert", "bag", *[row(7, "same")] * 2),
        )
        connector.stream()
        sent = len(connector.sent)
        database.lsn += 1_000_000
        database.commit(updates(2))
        connector.stream()
        events = [
            *connector.sent[:start], *compressed(connector.sent[start:sent]), *connector.sent[sent:]
        ]  # fmt: skip
        result = shop.run(events)
        if metadata:
            assert result.success
            assert shop.has(database)
        else:
            assert "binlog_transaction_compression" in result.output
            assert "provide.transaction.metadata=true" in result.output
            name = f"0-77-{database.transactions[1].xid}"
            given_up = f"{{cdc_give_up_transactions: ['{name}']}}"
            assert shop.run([], "--vars", given_up).success


@pytest.mark.parametrize("is_one_batch", [False, True])
def test_a_transaction_that_comes_again_from_another_server(shop: Shop, is_one_batch: bool) -> None:
    """Above the log's end, with its GTID: it would be captured twice."""
    database, connector = begin(shop, 1, 2)
    database.commit(updates(1))
    database.commit(updates(2))
    start = len(connector.sent)
    connector.stream()
    again = [
        replace(e, value=(e.value or "").replace('"binlog.000', '"binlog.001'))
        for e in connector.sent[start:]
    ]
    if is_one_batch:
        result = shop.run([*connector.sent, *again])
        assert "the connector has gone to another server (a failover)" in result.output
        return
    assert shop.run(connector.sent).success
    result = shop.run(again)
    assert "CDC 22859: events of transactions 0-77-" in result.output, result.output
    names = [f"0-77-{transaction.xid}" for transaction in database.transactions[1:]]
    assert shop.run([], "--vars", f"{{cdc_give_up_transactions: {names}}}").success
    assert shop.has(database)


def test_what_comes_again_from_another_server_behind_a_cut(shop: Shop) -> None:
    """The log knows the last one by its name, and may have had those that come before it."""
    database, connector = begin(shop, 1, 2)
    database.commit(updates(1))
    database.commit(updates(2))
    start = len(connector.sent)
    connector.stream()
    assert shop.run(connector.sent).success
    shop.cut()
    names = [f"0-77-{transaction.xid}" for transaction in database.transactions[1:]]
    events = [
        replace(e, value=(e.value or "").replace('"binlog.000', '"binlog.001'))
        for e in connector.sent[start:]
    ]
    for given_up in ([], names[-1:]):
        result = shop.run(events, "--vars", f"{{cdc_give_up_transactions: {given_up}}}")
        said = f"{names[1]} comes again at another place (a failover), and before it transaction "
        assert f"{said}{names[0]}: the log was cut" in result.output, result.output
        events = []
    assert shop.run([], "--vars", f"{{cdc_give_up_transactions: {names}}}").success
    assert shop.project.table("log").count() == 1


def test_an_event_that_lands_behind_its_transaction(shop: Shop) -> None:
    """Nothing counts them: the rest of the transaction is above the commit that the log has."""
    database, connector = begin(shop, 1, 2, 3, metadata=False)
    database.commit(updates(1, 2))
    database.commit(updates(3))
    connector.stream()
    connector.beat()
    late = connector.sent[-3]
    assert shop.run([e for e in connector.sent if e is not late]).success
    result = shop.run([late])
    assert "landed when the log had it" in result.output, result.output


def test_the_topic_of_transactions_does_not_land(shop: Shop) -> None:
    database, connector = begin(shop, 1, 2)
    database.commit(updates(1))
    database.commit(updates(2))
    connector.stream()
    result = shop.run([e for e in connector.sent if not e.topic.endswith("transaction")])
    assert "transactions without END: 2" in result.output, result.output
    assert "its END has not" in result.output


def test_a_failover_is_said(shop: Shop) -> None:
    """Another server's places are below those of the log, or its log has another name."""
    database, connector = begin(shop, 1, 2, 3)
    database.commit(updates(1))
    connector.stream()
    sent = len(connector.sent)
    database.lsn -= 700
    database.commit(updates(2))
    connector.server = 78
    connector.stream()
    result = shop.run(connector.sent)
    assert "LSNs of the source went back" in result.output, result.output
    shop.start()
    assert shop.run(connector.sent[:sent]).success
    result = shop.run(connector.sent[sent:])
    assert "or the LSNs of the source went back" in result.output, result.output

    database, connector = begin(shop, 1, 2, 3)
    assert shop.run(connector.sent).success
    connector.binlog = "mysql-bin"
    database.commit(updates(1))
    connector.stream()
    result = shop.run(connector.sent[5:])
    assert "comes from mysql-bin of my, and the log is of binlog of my" in result.output


def test_what_the_connector_lacks_is_named(shop: Shop) -> None:
    database, connector = begin(shop, 1, metadata=False)
    database.commit(updates(1))
    connector.stream()
    *events, last = connector.sent
    assert last.value
    gtid = json.loads(last.value)["source"]["gtid"]
    result = shop.run([*events, replace(last, value=last.value.replace(f'"{gtid}"', "null"))])
    assert "it does not tell its transaction" in result.output
    assert "provide.transaction.metadata=true" in result.output
    assert "gtid_mode=ON" in result.output
    shop.start()
    result = shop.run([replace(last, value=last.value.replace("binlog.", "binlog"))])
    assert "its place in the binary log is" in result.output
    shop.start()
    place = last.value.partition('"file": ')[2].partition(",")[0]
    result = shop.run([replace(last, value=last.value.replace(place, "null"))])
    assert "its place in the binary log is NULL" in result.output
    shop.start()
    result = shop.run([replace(last, value=last.value.replace('"mysql"', '"postgresql"'))])
    assert "CDC 22988" in result.output


# --- random stories -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", seeds(1, 40))
def test_whatever_the_connector_goes_through(shop: Shop, seed: int) -> None:
    story = stories.clean(seed, 12, metadata=seed % 2 == 0, kind=BinlogConnector)
    has_the_truth(shop, story, seed)


@pytest.fixture(scope="module")
def statement(shop: Shop) -> Statement:
    return Statement(shop)


def has_no_end_of_its_last_attempt(story: Story) -> bool:
    """Whether a connector broke off inside a transaction behind all of its events, so that the next
    attempt's END counts none: of which attempt the END before is, nothing tells."""
    ends: dict[str, set[int]] = defaultdict(set)
    numbers: dict[str, dict[tuple[Any, ...], set[int]]] = defaultdict(lambda: defaultdict(set))
    for event in story.events:
        value = json.loads(event.value or "{}")
        if value.get("status") == "END":
            ends[value["id"]].add(value["event_count"])
        elif value.get("transaction"):
            told, source = value["transaction"], value["source"]
            place = source["file"], source["pos"], source["row"], value["op"] != "d"
            numbers[told["id"]][place].add(told["total_order"])
    last = {xid: places[max(places)] for xid, places in numbers.items()}
    return any(len(found) > 1 and min(found) not in ends[xid] for xid, found in last.items())


@pytest.mark.parametrize("first", range(0, 300, 10))
def test_many_stories(statement: Statement, first: int) -> None:
    seeds = range(30_000 + first, 30_000 + first + 10)
    may_wait = has_no_end_of_its_last_attempt
    assert wrong_stories(statement, seeds, BinlogConnector, may_wait) == {}
