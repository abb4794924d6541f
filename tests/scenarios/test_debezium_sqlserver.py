"""Debezium's SQL Server connector: the LSNs of the source are those of the log."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from harness import IS_ALL, Project
from pyspark.sql import SparkSession
from reference import stories
from reference.debezium import Event
from reference.source import Database, SqlServerConnector
from test_debezium_faults import MODEL, SOURCE, Shop, row, updates
from test_debezium_stories import Statement, has_the_truth, seeds, wrong_stories

pytestmark = pytest.mark.slow
WAYS = [way for way in stories.WAYS if way != "snapshot"]  # a later snapshot is refused


@pytest.fixture(scope="module")
def shop(make_project: Callable[..., Project], spark: SparkSession) -> Shop:
    model = MODEL.replace("'landed')", "'landed'), connector='sqlserver'")
    models = {"log.sql": model, "sources.yml": SOURCE}
    return Shop(make_project(models=models, vars={"cdc_log_model": "log"}), spark)


def begin(shop: Shop, *rows: int, metadata: bool = True) -> tuple[Database, SqlServerConnector]:
    database, _ = shop.begin(*rows)
    connector = SqlServerConnector(database, "sql", metadata=metadata)
    connector.snapshot()
    return database, connector


def with_source(event: Event, **fields: Any) -> Event:
    value = json.loads(event.value or "")
    value["source"] |= fields
    return replace(event, value=json.dumps(value))


def with_image(event: Event, **images: Any) -> Event:
    return replace(event, value=json.dumps({**json.loads(event.value or ""), **images}))


def with_number(event: Event, number: int) -> Event:
    value = json.loads(event.value or "")
    value["transaction"]["total_order"] = number
    return replace(event, value=json.dumps(value))


def with_count(end: Event, count: int) -> Event:
    value = json.loads(end.value or "")
    return replace(end, value=json.dumps({**value, "event_count": count}))


def logged(shop: Shop, columns: str) -> list[tuple[Any, ...]]:
    query = f"select {columns} from {{schema}}.log where tran_id <> 'snapshot' order by 1, 2"
    return [tuple(found) for found in shop.project.sql(query)]


@pytest.mark.more
def test_lsns_are_those_of_the_source(shop: Shop) -> None:
    database, connector = begin(shop, 1, 2)
    done = database.commit(updates(1), ["update", "t", row(2, "first"), row(3, "moved")])
    connector.stream()
    assert shop.run(connector.sent).success
    first, second = (f"0x00000027{change.lsn:08X}0000" for change in done.changes)
    commit = f"0x00000027{done.end:08X}0001"
    image = '{"id":%s,"v":"%s"}'
    assert logged(shop, "lsn, tran_id, operation, before_image, after_image") == [
        (first, commit, "UPDATE", image % (1, "first"), image % (1, "new")),
        (second, commit, "UPDATE", image % (2, "first"), image % (3, "moved")),
        (commit, commit, "COMMIT", None, None),
    ]
    assert shop.has(database)
    assert shop.is_balanced()


@pytest.mark.more
def test_changes_of_a_key_that_go_back_keep_their_order(shop: Shop) -> None:
    """As of Debezium 3.4 they are sent in the order of their statements."""
    database, connector = begin(shop, 1)
    database.commit(updates(1), updates(1, old="new", new="newer"))
    start = len(connector.sent)
    connector.stream()
    begun, first, second, end = connector.sent[-4:]
    assert begun.value
    places = [json.loads(event.value or "")["source"]["change_lsn"] for event in (first, second)]
    events = [
        *connector.sent[: start + 1],
        with_source(first, change_lsn=places[1]),
        with_source(second, change_lsn=places[0]),
        end,
    ]
    assert shop.run([*events, events[-3]]).success  # and a copy of the first one
    records = logged(shop, "command_id, lsn, after_image")
    assert [after for _, _, after in records if after] == [
        '{"id":1,"v":"new"}',
        '{"id":1,"v":"newer"}',
    ]
    # the second is a change of the key: other message keys
    shop.start()
    database, connector = begin(shop, 1)
    database.commit(updates(1), ["update", "t", row(1, "new"), row(2, "new")])
    connector.stream()
    update, deleted, _, created, end = connector.sent[-5:]
    later = json.loads(update.value or "")["source"]["change_lsn"]
    sooner = later[:-4] + "0000" if later[-4:] != "0000" else later[:9] + "00000001:0000"
    moved = [with_source(event, change_lsn=sooner) for event in (deleted, created)]
    assert shop.run([*connector.sent[:-4], *moved, end]).success
    records = logged(shop, "command_id, lsn, after_image")
    assert [after for _, _, after in records if after] == [
        '{"id":1,"v":"new"}',
        '{"id":2,"v":"new"}',
    ]


def four_updates(shop: Shop, metadata: bool = True) -> tuple[list[Event], list[Event]]:
    """The snapshot, and a transaction that gives row 1 the values a, b, c, d."""
    database, connector = begin(shop, 1, metadata=metadata)
    start = len(connector.sent)
    values = ["first", *"abcd"]
    database.commit(*(updates(1, old=old, new=new) for old, new in pairwise(values)))
    connector.stream()
    return connector.sent[:start], connector.sent[start:]


def values_in_order(shop: Shop) -> str:
    records = logged(shop, "command_id, lsn, after_image")
    return "".join(json.loads(after)["v"] for _, _, after in records if after)


@pytest.mark.more
def test_changes_that_land_late_keep_their_order(shop: Shop) -> None:
    """As numbered in the transaction, also where they go back in the log of the source."""
    snapshot, (begun, a, b, c, d, end) = four_updates(shop)
    assert shop.run([*snapshot, begun, c, d, end]).success
    assert shop.run([a, b]).success
    assert values_in_order(shop) == "abcd"
    assert {command_id for command_id, *_ in logged(shop, "command_id, lsn")} == {None}
    snapshot, (begun, a, b, c, d, end) = four_updates(shop)
    lsns = [json.loads(event.value or "")["source"]["change_lsn"] for event in (a, b, c, d)]
    moved = [
        with_source(event, change_lsn=lsns[n])
        for event, n in zip((a, b, c, d), (1, 0, 3, 2), strict=True)
    ]
    assert shop.run([*snapshot, begun, moved[2], moved[1], end]).success
    assert shop.run([moved[3], moved[0]]).success
    assert values_in_order(shop) == "abcd"


@pytest.mark.more
@pytest.mark.parametrize("metadata", [True, False])
def test_late_changes_whose_order_nothing_tells(shop: Shop, metadata: bool) -> None:
    """Without numbers, or where two have one: they are in order unless they land late."""
    for is_late in (True, False):
        snapshot, events = four_updates(shop, metadata)
        a, b, c, d = events[1:-1] if metadata else events
        if metadata:
            begun, end = events[0], with_count(events[-1], 3)
            b, c, d = (with_number(event, n) for n, event in enumerate((b, c, d), start=1))
            landed = [begun, c, d, end, a, b] if is_late else [begun, a, b, c, d, end]
        else:
            place = "00000027:70000000:0001"
            later = with_source(d, commit_lsn=place, change_lsn=place)
            landed = [c, d, later, a, b] if is_late else [a, b, c, d, later]
        result = shop.run([*snapshot, *landed])
        assert result.success == (not is_late)
        if is_late:
            assert "no numbers tell their order" in result.output
            (name,) = re.findall(r"bad log record of transaction (\w+): changes", result.output)
            assert shop.run([], "--vars", f"{{cdc_give_up_transactions: ['{name}']}}").success
        else:
            assert values_in_order(shop) == "abcd"


@pytest.mark.more
def test_without_metadata_the_last_transaction_waits(shop: Shop) -> None:
    database, connector = begin(shop, 1, 2, metadata=False)
    database.commit(updates(1))
    connector.stream()
    assert shop.run(connector.sent).success
    (waiting,) = shop.project.sql("select * from {schema}.waiting_transactions")
    assert waiting.reason == "no later transaction has landed, which tells where this one ended"
    sent = len(connector.sent)
    connector.beat()
    assert shop.run(connector.sent[sent:]).success
    assert shop.has(database)
    assert shop.is_balanced()


@pytest.mark.more
def test_an_end_waits_for_its_events(shop: Shop) -> None:
    database, connector = begin(shop, 1, 2)
    start = len(connector.sent)
    database.commit(updates(1, 2))
    connector.stream()
    begun, *changes, end = connector.sent[start:]
    assert shop.run([*connector.sent[:start], begun, changes[0], end]).success
    (waiting,) = shop.project.sql("select * from {schema}.waiting_transactions")
    assert waiting.reason == "1 of 2 events have landed"
    assert shop.run(changes[1:]).success
    assert shop.has(database)
    assert shop.run([*changes, end]).success  # copies
    assert shop.is_balanced()


@pytest.mark.more
def test_a_copy_is_no_other_event(shop: Shop) -> None:
    """What a connector that restarted sends again its END counts, what lands again it does not."""
    database, connector = begin(shop, 1, 2, 3)
    start = len(connector.sent)
    for n in (1, 2):
        database.commit(updates(n, 3, old="first"))
        database.commit(updates(3, old="new", new="first"))
    connector.stream()
    snapshot, (begun, first, second, end, *rest) = connector.sent[:start], connector.sent[start:]
    assert shop.run([*snapshot, begun, first, first, end, *rest]).success
    (waiting, *_) = shop.project.sql(
        "select * from {schema}.waiting_transactions order by first_position"
    )
    assert waiting.reason == "1 of 2 events have landed"
    assert shop.run([second]).success
    assert shop.has(database)
    shop.start()
    again, more = with_number(first, 3), with_count(end, 3)
    assert shop.run([*snapshot, begun, first, second, again, more, *rest]).success
    assert shop.has(database)


@pytest.mark.more
@pytest.mark.parametrize("metadata", [True, False])
def test_what_lands_late_is_said(shop: Shop, metadata: bool) -> None:
    database, connector = begin(shop, 1, 2, 3, metadata=metadata)
    for n in (1, 2, 3):
        database.commit(updates(n))
    start = len(connector.sent)
    connector.stream()
    connector.beat()
    size = 3 if metadata else 1
    late = connector.sent[start + size : start + 2 * size]
    assert shop.run([e for e in connector.sent if e not in late]).success
    result = shop.run(late)
    name = f"0x00000027{database.transactions[2].end:08X}0001"
    assert f"transaction {name} committed at or below the end of the log" in result.output
    assert shop.run([], "--vars", f"{{cdc_give_up_transactions: ['{name}']}}").success


@pytest.mark.more
def test_other_sources_and_later_snapshots_are_refused(shop: Shop) -> None:
    database, connector = begin(shop, 1)
    snapshot = len(connector.sent)
    database.commit(updates(1))
    connector.stream()
    assert shop.run(connector.sent).success
    assert shop.run(connector.sent[:snapshot]).success  # copies
    database.next_lsn()
    sent = len(connector.sent)
    connector.snapshot()
    result = shop.run(connector.sent[sent:])
    assert "rows of a snapshot landed behind what the log has" in result.output
    lsn = f"0x00000027{database.lsn:08X}0001"
    given_up = f"{{cdc_give_up_transactions: ['snapshot:{lsn}']}}"
    assert f"snapshot:{lsn}: 3 rows" in result.output
    assert shop.run([], "--vars", given_up).success
    assert shop.has(database)
    # where all of it lands at once, the first snapshot stays
    sent = connector.sent
    shop.start()
    assert "it is a second snapshot of the source" in shop.run(sent).output
    assert shop.run([], "--vars", given_up).success
    assert shop.has(database)


@pytest.mark.more
def test_a_log_without_a_snapshot_goes_on_without_a_later_one(shop: Shop) -> None:
    """By its name, also when the log is written anew; `snapshot` is the one that comes first."""
    database, connector = begin(shop, 1)
    connector.sent.clear()
    done = [database.commit(updates(1)), database.commit(("insert", "t", row(2, "new")))]
    connector.stream()
    assert shop.run(connector.sent).success
    sent = len(connector.sent)
    database.next_lsn()
    connector.snapshot()
    name = f"snapshot:0x00000027{database.lsn:08X}0001"
    assert f"{name}: 4 rows of a snapshot landed behind" in shop.run(connector.sent[sent:]).output
    lsns = {(f"0x00000027{transaction.end:08X}0001",) for transaction in done}
    for options in [(name,), (name, "--full-refresh"), ("snapshot", "--full-refresh")]:
        given_up = json.dumps({"cdc_give_up_transactions": [options[0]]})
        assert shop.run([], *options[1:], "--vars", given_up).success, options
        assert {found[:1] for found in logged(shop, "tran_id, lsn")} == lsns
        assert shop.is_balanced()


@pytest.mark.more
def test_a_column_op_is_no_mark_of_a_snapshot(shop: Shop) -> None:
    database, connector = begin(shop, 1)
    snapshot = len(connector.sent)
    database.commit(("insert", "t", {**row(2, "x"), "op": "r"}))
    connector.stream()
    assert shop.run(connector.sent[:snapshot]).success
    assert shop.run([*connector.sent[snapshot:], *connector.sent[:snapshot]]).success  # copies
    assert shop.has(database)


@pytest.mark.more
def test_rows_of_the_snapshot_among_changes(shop: Shop) -> None:
    """The next run reads them again, behind what waits; they are in the log by then."""
    database, connector = begin(shop, 1, 2)
    snapshot = len(connector.sent)
    database.commit(updates(1))
    connector.stream()
    rows, (begun, change, end) = connector.sent[:snapshot], connector.sent[snapshot:]
    assert shop.run([*rows[:2], begun, change, *rows[2:]]).success
    assert shop.run([end]).success
    assert shop.has(database)
    assert shop.is_balanced()


def seen_row(event: Event, number: int) -> Event:
    """One more row beside one of the snapshot."""
    value = json.loads(event.value or "")
    value["after"], value["source"]["snapshot"] = row(number, "seen"), "true"
    return replace(event, key=f'{{"id": {number}}}', value=json.dumps(value))


@pytest.mark.parametrize(
    "what",
    ["insert", *(pytest.param(what, marks=pytest.mark.more) for what in ("update", "before"))],
)
def test_what_the_snapshot_holds_is_not_captured_again(shop: Shop, what: str) -> None:
    """Its LSN is what the capture job had scanned, and its rows were read from the tables."""
    database, connector = begin(shop, 1)
    start = len(connector.sent)
    changes = {
        "insert": [("insert", "t", row(2, "seen"))],
        "update": [updates(1, new="seen")],
        "before": [updates(1, new="seen")],
    }
    first = database.commit(*changes[what])
    second = database.commit(("insert", "t", row(3, "not seen")))
    connector.stream()
    rows = connector.sent[:start]
    at = next(n for n, event in enumerate(rows) if '"first"' in (event.value or ""))
    if what == "insert":
        rows.insert(at + 1, seen_row(rows[at], 2))
    else:
        rows[at] = replace(rows[at], value=(rows[at].value or "").replace('"first"', '"seen"'))
    if what == "before":  # a snapshot behind a transaction that was streamed: LSNs tell it
        lsn = f"00000027:{first.end:08x}:0001"
        rows = [with_source(e, commit_lsn=lsn) if '"op"' in (e.value or "") else e for e in rows]
    streamed = connector.sent[start:]
    shop.start()
    result = shop.run(rows + streamed if what != "before" else streamed + rows)
    lsns = [f"0x00000027{done.end:08X}0001" for done in (first, second)]
    assert "CDC 22859" in result.output
    assert f"streamed, too: {lsns[0]}" in result.output
    assert lsns[1] not in result.output
    go_on = json.dumps({"cdc_give_up_transactions": [lsns[0]]})
    assert shop.project.dbt("run", "--select", "log", "--vars", go_on).success
    assert shop.has(database)


@pytest.mark.more
def test_what_the_snapshot_holds_and_lands_later(shop: Shop) -> None:
    """The log has a transaction that it may have held, and begins with the next one."""
    database, connector = begin(shop, 1)
    start = len(connector.sent)
    first = database.commit(updates(1))
    second = database.commit(("insert", "t", row(2, "seen")))
    third = database.commit(("insert", "t", row(3, "not seen")))
    connector.stream()
    rows, streamed = connector.sent[:start], connector.sent[start:]
    at = next(n for n, event in enumerate(rows) if '"first"' in (event.value or ""))
    rows.insert(at + 1, seen_row(rows[at], 2))
    assert shop.run([*rows, *streamed[:3]]).success
    result = shop.run(streamed[3:6])
    lsns = [f"0x00000027{done.end:08X}0001" for done in (first, second, third)]
    assert "CDC 22859: the snapshot that the log begins with holds transactions" in result.output
    assert f"streamed, too: {lsns[1]}; it has public.t, key" in result.output
    assert f"; those up to {lsns[0]} are captured" in result.output
    go_on = json.dumps({"cdc_give_up_transactions": [lsns[1]]})
    assert shop.run(streamed[6:], "--vars", go_on).success
    database.commit(updates(2, old="seen"))
    sent = len(connector.sent)
    connector.stream()
    assert shop.run(connector.sent[sent:]).success  # without the variable
    assert shop.has(database)


@pytest.mark.more
def test_what_the_snapshot_holds_and_lands_behind_what_was_given_up(shop: Shop) -> None:
    """The look goes on behind it, and what follows on its changes was not seen for that."""
    database, connector = begin(shop, 1)
    start = len(connector.sent)
    lost = database.commit(updates(1), ("insert", "t", row(7, "first")))
    database.commit(updates(1, old="new", new="last"), updates(7))
    third = database.commit(("insert", "t", row(2, "seen")))
    connector.stream()
    rows, streamed = connector.sent[:start], connector.sent[start:]
    at = next(n for n, event in enumerate(rows) if '"first"' in (event.value or ""))
    rows.insert(at + 1, seen_row(rows[at], 2))
    del streamed[3]  # its END
    lsns = [f"0x00000027{done.end:08X}0001" for done in (lost, third)]
    given_up = json.dumps({"cdc_give_up_transactions": [lsns[0]]})
    assert shop.run([*rows, *streamed[:7]], "--vars", given_up).success
    result = shop.run(streamed[7:])
    assert f"streamed, too: {lsns[1]}; it has public.t, key" in result.output


@pytest.mark.more
@pytest.mark.parametrize("is_soon", [True, False])
def test_a_deleted_row_tells_what_the_snapshot_has_seen(shop: Shop, is_soon: bool) -> None:
    """Later it may be one that a query for the snapshot leaves out."""
    database, connector = begin(shop, 1, 2)
    rows = [e for e in connector.sent if not (e.key and '"id": 2' in e.key)]
    start = len(connector.sent)
    database.clock += 0 if is_soon else 10_000_000
    changed = database.commit(updates(2))
    deleted = database.commit(("delete", "t", row(2, "new")))
    database.commit(("insert", "t", row(3, "not seen")))
    connector.stream()
    result = shop.run([*rows, *connector.sent[start:]])
    assert result.success == (not is_soon)
    if is_soon:
        lsns = [f"0x00000027{done.end:08X}0001" for done in (changed, deleted)]
        assert f"streamed, too: {', '.join(lsns)}; it has public.t, key" in result.output
        go_on = json.dumps({"cdc_give_up_transactions": lsns})
        assert shop.run([], "--vars", go_on).success
        assert shop.has(database)


def one_update(
    shop: Shop, before: dict[str, Any], after: dict[str, Any], seen: dict[str, Any], **told: Any
) -> tuple[str, str]:
    """What a run says whose snapshot has seen this of a row, and the transaction that updates it;
    `told` differs in the row before it."""
    database, _ = shop.begin()
    database.commit(("insert", "t", {"id": 1, **before}))
    connector = SqlServerConnector(database, "sql")
    connector.snapshot()
    rows = [
        with_image(e, after={"id": 1, **seen}) if "public.t" in e.topic else e
        for e in connector.sent
    ]
    start = len(connector.sent)
    done = database.commit(["update", "t", {"id": 1, **before}, {"id": 1, **after}])
    connector.stream()
    begun, update, end = connector.sent[start:]
    update = with_image(update, before={"id": 1, **before, **told})
    result = shop.run([*rows, begun, update, end])
    assert result.success or "CDC 22859" in result.output, result.output
    return result.output, f"0x00000027{done.end:08X}0001"


@pytest.mark.more
@pytest.mark.parametrize(("old", "new"), [(None, 7), (7, None)])
def test_a_null_tells_what_the_snapshot_has_seen(shop: Shop, old: Any, new: Any) -> None:
    output, name = one_update(shop, {"n": old}, {"n": new}, {"n": new})
    assert f"streamed, too: {name}; it has public.t, key" in output


@pytest.mark.more
def test_a_null_before_an_update_may_be_left_out(shop: Shop) -> None:
    """So SQL Server does with `text`; computed columns are NULL in both images."""
    before = {"v": "old", "n": 1, "sum": None}
    output, _ = one_update(
        shop, before, {"v": "new", "n": 2, "sum": None}, {"v": "old", "n": 1, "sum": 5}, v=None
    )
    assert "22859" not in output


@pytest.mark.more
def test_what_the_snapshot_holds_was_committed_in_its_hour(shop: Shop) -> None:
    """A row that changed later without an event is no sign of it."""
    database, connector = begin(shop, 1)
    database.commit(("insert", "t", row(2, "first")))
    database.clock += 3_600_000_000
    database.commit(updates(1))
    connector.stream()
    del connector.sent[-3:]
    database.commit(updates(1, old="new", new="last"))
    connector.stream()
    assert shop.run(connector.sent).success
    assert len(logged(shop, "lsn, after_image")) == 4


def test_a_row_of_another_table_in_the_same_topic_was_not_seen(shop: Shop) -> None:
    """Where all topics are one, equal keys are of different rows."""
    shop.start()
    database = Database(["t", "other"], ["t", "other"])
    database.commit(("insert", "other", row(7, "first")))
    connector = SqlServerConnector(database, "sql")
    connector.snapshot()
    database.commit(("insert", "t", row(7, "new")))
    connector.stream()
    assert shop.run([replace(event, topic="sql.all") for event in connector.sent]).success
    assert shop.has(database)


@pytest.mark.parametrize("rows", [(1, 2), pytest.param((1,), marks=pytest.mark.more)])
def test_a_message_key_of_several_rows_tells_no_row(shop: Shop, rows: tuple[int, ...]) -> None:
    """As `message.key.columns` makes it: what was streamed was not seen by the snapshot."""
    database, connector = begin(shop, *rows)
    database.commit(updates(1), ("insert", "t", row(3, "new")))
    database.commit(("insert", "t", row(4, "new")))
    connector.stream()
    events = [
        replace(e, key='{"order_id": 7}') if '"op"' in (e.value or "") else e
        for e in connector.sent
    ]
    assert shop.run(events).success
    assert shop.has(database)


@pytest.mark.parametrize("metadata", [True, pytest.param(False, marks=pytest.mark.more)])
def test_halves_of_a_key_change_may_have_one_number(shop: Shop, metadata: bool) -> None:
    """As a Debezium that orders by command id sends them."""
    database, connector = begin(shop, 1, metadata=metadata)
    database.commit(["update", "t", row(1, "first"), row(2, "first")])
    database.commit(("insert", "t", row(3, "last")))
    connector.stream()
    events = [
        with_source(e, event_serial_no=1) if '"op": "c"' in (e.value or "") else e
        for e in connector.sent
    ]
    assert events != connector.sent
    shop.start()
    assert shop.run(events).success
    assert logged(shop, "lsn, operation")[0][1] == "UPDATE"
    assert shop.is_balanced()


@pytest.mark.more
def test_another_database_is_refused(shop: Shop) -> None:
    database, connector = begin(shop, 1)
    database.commit(updates(1))
    connector.stream()
    assert shop.run(connector.sent).success
    foreign = Database(["t"], ["t"], name="other")
    foreign.lsn = database.lsn
    other = SqlServerConnector(foreign, "sql")
    foreign.commit(("insert", "t", row(5, "x")))
    other.stream()
    result = shop.run(other.sent)
    assert "it comes from sql.other, and the log is of sql.d" in result.output


@pytest.mark.more
def test_a_snapshot_that_broke_off_begins_again(shop: Shop) -> None:
    database, connector = begin(shop, 1, 2)
    parts = connector.sent[:2]
    database.next_lsn()
    connector.sent.clear()
    connector.snapshot()
    assert shop.run([*parts, *connector.sent]).success
    assert shop.has(database)
    assert shop.is_balanced()


@pytest.mark.more
def test_a_snapshot_that_begins_again_at_one_place(shop: Shop) -> None:
    _, connector = begin(shop, 1, 2)
    parts = connector.sent[:2]
    connector.snapshot()
    result = shop.run([*parts, *connector.sent[len(connector.sent) // 2 :]])
    assert "the snapshot has two first or two last rows there" in result.output


@pytest.mark.more
def test_large_values_that_were_not_logged(shop: Shop) -> None:
    """From version 3.6 on the connector says so; the schema topic is passed over."""
    database, connector = begin(shop, 1)
    database.commit(updates(1))
    connector.stream()
    *events, update, end = connector.sent
    assert update.value
    unknown = update.value.replace('"v": "new"', '"v": "__debezium_unavailable_value"')
    schema = {"source": connector._source("t", database.lsn, 1, 0, "false"), "tableChanges": []}
    changed = Event(0, "sql", "{}", json.dumps({**schema, "ddl": None}), None)
    assert shop.run([*events, changed, replace(update, value=unknown), end]).success
    assert next(after for _, after in logged(shop, "lsn, after_image")) == '{"id":1}'
    assert shop.is_balanced()


@pytest.mark.more
def test_places_that_cannot_be_read(shop: Shop) -> None:
    database, connector = begin(shop, 1)
    database.commit(updates(1))
    connector.stream()
    *events, update, end = connector.sent
    result = shop.run([*events, with_source(update, change_lsn="27:1:1"), end])
    assert "its change_lsn 27:1:1" in result.output
    shop.start()
    result = shop.run([*events, with_source(update, change_lsn=None), end])
    assert "its change_lsn NULL" in result.output
    shop.start()
    other = with_source(update, table="s")
    assert shop.run([*events, other, end]).success
    shop.start()
    odd = replace(update, value=(update.value or "").replace("new", "odd"))
    result = shop.run([*events, update, odd, end])
    assert "events of it differ" in result.output


# Events that servers have sent (public notes of their users), with the LSNs that the log has.
SEEN = """
{"before": null, "after": {"id": 9, "name": "jjj", "ts": 1753346775537}, "source": {"version": "1.9.7.Final", "connector": "sqlserver", "name": "sql", "ts_ms": 1753317975547, "snapshot": "false", "db": "realtime_v3", "sequence": null, "schema": "dbo", "table": "cdc_test", "change_lsn": "0000002b:000002e3:0002", "commit_lsn": "0000002b:000002e3:0003", "event_serial_no": 1}, "op": "c", "ts_ms": 1753317976768, "transaction": null}
{"before": {"id": 9, "name": "jjj", "ts": 1753346775537}, "after": null, "source": {"version": "1.9.7.Final", "connector": "sqlserver", "name": "sql", "ts_ms": 1753318054923, "snapshot": "false", "db": "realtime_v3", "sequence": null, "schema": "dbo", "table": "cdc_test", "change_lsn": "0000002b:000002f6:0002", "commit_lsn": "0000002b:000002f6:0003", "event_serial_no": 1}, "op": "d", "ts_ms": 1753318056689, "transaction": null}
{"before": {"id": 5, "name": "gggr", "ts": 1753286645690}, "after": {"id": 5, "name": "eee", "ts": 1753286645690}, "source": {"version": "1.9.7.Final", "connector": "sqlserver", "name": "sql", "ts_ms": 1753318141440, "snapshot": "false", "db": "realtime_v3", "sequence": null, "schema": "dbo", "table": "cdc_test", "change_lsn": "0000002b:0000030a:0002", "commit_lsn": "0000002b:0000030a:0003", "event_serial_no": 2}, "op": "u", "ts_ms": 1753318141695, "transaction": null}
"""  # noqa: E501


def test_events_that_servers_have_sent(shop: Shop) -> None:
    """With schemas on, too; the last one waits, as no later one has landed."""
    shop.start()
    first, second, third = SEEN.strip().splitlines()
    events = [first, f'{{"schema": {{}}, "payload": {second}}}', third]
    assert shop.run([Event(0, "sql.dbo.cdc_test", None, text, None) for text in events]).success
    assert logged(shop, "lsn, tran_id, operation, cast(record_time as string)") == [
        ("0x0000002B000002E30002", "0x0000002B000002E30003", "INSERT", "2025-07-24 00:46:15.547"),
        ("0x0000002B000002E30003", "0x0000002B000002E30003", "COMMIT", "2025-07-24 00:46:15.547"),
        ("0x0000002B000002F60002", "0x0000002B000002F60003", "DELETE", "2025-07-24 00:47:34.923"),
        ("0x0000002B000002F60003", "0x0000002B000002F60003", "COMMIT", "2025-07-24 00:47:34.923"),
    ]
    (waiting,) = shop.project.sql("select * from {schema}.waiting_transactions")
    assert waiting.tran_id == "0x0000002B0000030A0003"


# --- random stories -------------------------------------------------------------------------------


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(1, 40))
def test_whatever_the_connector_goes_through(shop: Shop, seed: int) -> None:
    story = stories.clean(seed, 12, WAYS, metadata=seed % 2 == 0, kind=SqlServerConnector)
    has_the_truth(shop, story, seed)


@pytest.fixture(scope="module")
def statement(shop: Shop) -> Statement:
    return Statement(shop)


@pytest.mark.parametrize("first", range(0, 300 if IS_ALL else 10, 10))
def test_many_stories(statement: Statement, first: int) -> None:
    seeds = range(40_000 + first, 40_000 + first + 10)
    assert wrong_stories(statement, seeds, SqlServerConnector) == {}
