"""Debezium's PostgreSQL connector as it is by default: no BEGIN, no END, no numbers of events."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from harness import IS_ALL, Project
from pyspark.sql import SparkSession
from reference import stories
from reference.capture import CaptureInstance, capture
from reference.debezium import Event, read_log
from reference.source import Connector, Database
from reference.truth import Truth, landed_events
from test_debezium_faults import MODEL, SOURCE, Shop, row, updates
from test_debezium_stories import WITHOUT_SNAPSHOTS, Statement, cuts, seeds, wrong
from test_truth import BEFORE_IMAGES, DATA, TABLES, TYPES, changes, land, project

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shop(make_project: Callable[..., Project], spark: SparkSession) -> Shop:
    models = {"log.sql": MODEL, "sources.yml": SOURCE}
    return Shop(make_project(models=models, vars={"cdc_log_model": "log"}), spark)


def begin(shop: Shop, *rows: int) -> tuple[Database, Connector]:
    database, connector = shop.begin(*rows)
    connector.metadata = False
    return database, connector


def without_metadata(events: list[Event]) -> list[Event]:
    """The events as the same connector sends them without provide.transaction.metadata."""
    left = []
    for event in events:
        value = json.loads(event.value) if event.value else None
        if value and "status" in value:
            continue
        text = event.value
        if value and value.get("transaction"):
            numbers = json.dumps(value["transaction"], separators=(",", ":"))
            assert f'"transaction":{numbers}' in event.value
            text = event.value.replace(f'"transaction":{numbers}', '"transaction":null')
        left.append(replace(event, value=text))
    return left


@pytest.mark.more
def test_a_real_log_gives_the_same_change_tables(make_project: Callable[..., Project]) -> None:
    """All but the last transaction, which no later event ends; batches end inside transactions."""
    truth = Truth(DATA / "postgres")
    instances: list[CaptureInstance] = [
        truth.instance(t, "partial" if t == "docs" else "complete") for t in TABLES
    ]
    told = landed_events(DATA / "postgres" / "debezium" / "all.jsonl.gz")
    untold = without_metadata(told)
    made = project(make_project, instances, "incremental", TYPES)
    for low, high in ((0, 1001), (1001, 1700), (1700, len(untold))):
        land(made, untold[low:high])
        made.ok("run")
    records = read_log(told, TYPES, BEFORE_IMAGES).records
    last = max(record.lsn for record in records if record.operation == "COMMIT")
    for instance in instances:
        expected = [row for row in capture(records, instance) if row.start_lsn < last]
        assert changes(made, instance) == expected
    (waiting,) = made.sql("select * from {schema}.waiting_transactions")
    assert waiting.tran_id == "1153"
    assert waiting.reason == "no later transaction has landed, which tells where this one ended"


@pytest.mark.more
def test_the_last_transaction_waits_and_a_message_ends_it(shop: Shop) -> None:
    database, connector = begin(shop, 1, 2)
    connector.snapshot()
    database.commit(updates(1))
    connector.stream()
    result = shop.run(connector.sent)
    assert result.success
    assert "give" not in result.output
    assert not shop.has(database)
    sent = len(connector.sent)
    connector.beat()
    assert shop.run(connector.sent[sent:]).success
    assert shop.has(database)
    assert shop.is_balanced()
    assert not shop.project.sql("select * from {schema}.waiting_transactions")


@pytest.mark.more
def test_long_transactions_over_short_ones(shop: Shop) -> None:
    """The long one's events are below commits that the log has by then."""
    database, connector = begin(shop, 1, 2)
    connector.snapshot()
    first = database.commit(updates(1))
    second = database.commit(updates(2))
    # the second began before the first: its change is below the first one's
    moved = replace(second, changes=tuple(replace(c, lsn=first.lsn + 1) for c in second.changes))
    database.transactions[-1] = moved
    connector.stream()
    connector.beat()
    for event in connector.sent:
        assert shop.run([event]).success
    assert shop.has(database)
    assert shop.is_balanced()


@pytest.mark.more
def test_events_that_land_again(shop: Shop) -> None:
    database, connector = begin(shop, 1, 2, 3)
    connector.snapshot()
    for n in (1, 2, 3):
        database.commit(updates(n))
    connector.stream()
    connector.beat()
    assert shop.run(connector.sent).success
    assert shop.run(connector.sent[-4:]).success  # the same, later
    connector.restart(3)  # of the connector: other times of sending
    connector.beat()
    assert shop.run(connector.sent[-5:]).success
    assert shop.has(database)
    assert shop.is_balanced()


@pytest.mark.more
@pytest.mark.parametrize("is_whole", [True, False])
def test_what_lands_behind_a_later_transaction_is_said(shop: Shop, is_whole: bool) -> None:
    database, connector = begin(shop, 1, 2, 3)
    connector.snapshot()
    start = len(connector.sent)
    for n in (1, 2, 3):
        database.commit(updates(n), ("insert", "bag", row(n, "late")))
    connector.stream()
    connector.beat()
    late = connector.sent[start + 2 : start + 4] if is_whole else connector.sent[start + 3 :][:1]
    assert shop.run([e for e in connector.sent if e not in late]).success
    result = shop.run(late)
    assert "CDC 22859" in result.output
    xid = database.transactions[2].xid
    says = f"transaction {xid}:" if is_whole else f"events of transaction {xid}:"
    assert says in result.output, result.output
    assert shop.run([], "--vars", f"{{cdc_give_up_transactions: ['{xid}']}}").success


@pytest.mark.more
def test_equal_rows_of_a_table_without_a_key(shop: Shop) -> None:
    """They have one place and one content; a copy has the text, or comes again behind others."""
    database, connector = begin(shop, 1)
    connector.snapshot()
    database.commit(("insert", "bag", *[row(7, "same")] * 3, row(8, "other")))
    connector.stream()
    copies = connector.sent[-2:]
    connector.beat()
    assert shop.run([*connector.sent[:-1], *copies, connector.sent[-1]]).success
    assert shop.has(database)
    assert shop.is_balanced()


@pytest.mark.more
def test_equal_rows_of_one_message_key(shop: Shop) -> None:
    """message.key.columns may name columns that are no key: only a restart sends a row again."""
    database, connector = begin(shop, 1)
    connector.snapshot()
    database.commit(("insert", "t", *[row(7, "same")] * 2), updates(1))
    connector.stream(events=2)
    connector.restart(2, events=2)
    connector.restart(2)
    copies = connector.sent[-3:-1]
    connector.beat()
    assert shop.run([*connector.sent[:-1], *copies, connector.sent[-1]]).success
    assert shop.has(database)
    assert shop.is_balanced()


@pytest.mark.more
def test_an_equal_row_that_was_sent_later_may_be_a_copy(shop: Shop) -> None:
    database, connector = begin(shop, 1)
    connector.snapshot()
    database.commit(("insert", "bag", row(7, "same")), updates(1))
    connector.stream(events=1)
    connector.restart(1)
    connector.beat()
    result = shop.run(connector.sent)
    assert "CDC 22859" in result.output
    assert "public.bag, which has no key" in result.output


@pytest.mark.more
def test_metadata_that_is_turned_on(shop: Shop) -> None:
    database, connector = begin(shop, 1, 2, 3)
    connector.snapshot()
    database.commit(updates(1))
    database.commit(updates(2))
    connector.stream()
    connector.metadata = True
    database.commit(updates(3))
    connector.stream()
    connector.metadata = False
    database.commit(("insert", "t", row(9, "last")))
    connector.stream()
    connector.beat()
    half = len(connector.sent) // 2
    assert shop.run(connector.sent[:half]).success
    assert shop.run(connector.sent[half:]).success
    assert shop.has(database)
    assert shop.is_balanced()


@pytest.mark.more
def test_versions_that_tell_no_sequence_are_refused(shop: Shop) -> None:
    database, connector = begin(shop, 1)
    connector.snapshot()
    database.commit(updates(1))
    connector.stream()
    old = [replace(e, value=e.value.replace('"sequence"', '"no_sequence"')) for e in connector.sent]
    result = shop.run(old)
    assert "it does not tell its transaction" in result.output
    assert "provide.transaction.metadata=true" in result.output


# --- random stories -------------------------------------------------------------------------------


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(1, 30))
def test_whatever_the_connector_goes_through(shop: Shop, seed: int) -> None:
    story, rng = stories.clean(seed, 12, metadata=False), random.Random(seed)
    shop.start()
    for low, high in cuts(rng, len(story.events), 3):
        result = shop.run(story.events[low:high])
        if "which has no key, and was sent" in result.output:
            return
        assert result.success, result.output
    assert not shop.lacks(story.database)
    assert shop.is_balanced()


@pytest.fixture(scope="module")
def statement(shop: Shop) -> Statement:
    database, connector = begin(shop, 1)
    connector.snapshot()
    database.commit(updates(1))
    connector.stream()
    assert shop.run(connector.sent).success
    return Statement(shop, is_run=True)


@pytest.mark.parametrize("first", range(0, 300 if IS_ALL else 10, 10))
def test_many_stories(statement: Statement, first: int) -> None:
    found = {}
    for seed in range(first, first + 10):
        clean = stories.clean(20_000 + seed, 3, WITHOUT_SNAPSHOTS, metadata=False)
        fault, faulty = stories.faulty(20_000 + seed, WITHOUT_SNAPSHOTS, metadata=False)
        found[seed, "clean"] = wrong(statement, clean, is_clean=True)
        if fault not in (
            "other",
            "lost",
        ):  # what never lands leaves no trace: nothing counts events
            found[seed, fault] = wrong(statement, faulty)
    assert not any(found.values()), {story: text for story, text in found.items() if text}
