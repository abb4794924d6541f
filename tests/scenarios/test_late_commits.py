"""Transactions that land when the log has been captured beyond their place: never in silence."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from typing import Any

import pytest
from capturing import Capture, instance_yaml
from harness import Project
from reference.capture import CaptureInstance
from reference.log import LogRecord
from transactions import Writer

pytestmark = pytest.mark.slow

ITEMS = CaptureInstance("dbo", "items", "dbo_items", (("id", "int"), ("name", "string")), ("id",))
AGAIN = CaptureInstance("dbo", "items", "items_again", ITEMS.columns, ("id",))
PLAIN = {"cdc_persistent_functions": False}
SELECT = " select * from {{ dbt_cdc.new_changes('dbo_items') }}"
CONSUMERS = {
    "now": "{{ config(materialized='replica') }}" + SELECT,
    "feed": "{{ config(materialized='incremental', incremental_strategy='append',"
    " file_format='delta') }}" + SELECT,
}
PASS = ("--vars", "{cdc_late_commits: pass}")


def capture(make_project: Callable[..., Project]) -> tuple[Capture, Writer]:
    return Capture(make_project, [ITEMS], vars=PLAIN), Writer()


def refused(target: Capture, *parts: str) -> None:
    result = target.project.dbt("run")
    assert not result.success
    for part in ("CDC 22859: ", "landed too late", "vars: {cdc_late_commits: pass}", *parts):
        assert part in result.output, result.output
    assert "org.apache" not in result.output


def read(target: Capture, table: str) -> list[int]:
    return sorted(row.id for row in target.sql(f"select id from {{schema}}.{table}"))


def ids(target: Capture, instance: CaptureInstance = ITEMS) -> list[int]:
    return sorted(row.values[0] for row in target.changes(instance))


@pytest.mark.more
def test_a_late_transaction_is_named_until_a_second_instance_has_it(
    make_project: Callable[..., Project],
) -> None:
    target, writer = capture(make_project)
    first, late, third = (writer.insert("items", id=n, name="n") for n in (1, 2, 3))
    other = writer.insert("others", id=1)
    last = writer.insert("items", id=4, name="n")
    target.land([*first, *third, *last])
    for name, text in CONSUMERS.items():
        target.project.write(f"models/{name}.sql", text)
    target.run()
    # a table that nobody captures is nobody's loss
    target.land(other)
    assert "too late" not in target.run().output
    # with nothing else in the log, and with more
    target.land(late)
    refused(target, "1 transaction of dbo.items", late[-1].lsn, f"up to {last[-1].lsn}")
    target.land(writer.insert("items", id=5, name="n"))
    refused(target, f"with the commit {late[-1].lsn} (tran_id {late[-1].tran_id})")
    assert ids(target) == [1, 3, 4]
    output = target.run(*PASS).output
    assert f"commit {late[-1].lsn}" in output and "no change table has it" in output
    assert ids(target) == [1, 3, 4, 5]
    # the way on
    target.project.write("models/again.yml", instance_yaml([AGAIN], capture_from="log_start"))
    target.project.write("models/items_again_ct.sql", "{{ dbt_cdc.change_table() }}")
    target.land(writer.insert("items", id=6, name="n"))
    target.run(*PASS)
    assert ids(target, AGAIN) == [1, 2, 3, 4, 5, 6]
    assert "too late" not in target.run().output
    # consumers that went on behind it would not
    for name, text in CONSUMERS.items():
        target.project.write(f"models/{name}.sql", text.replace("dbo_items", "items_again"))
    messages = target.project.dbt("run").messages
    for name in CONSUMERS:
        assert f"of the commit {late[-1].lsn}, which dbo_items lacks" in messages[name].message
    target.run("--full-refresh", "--select", "now")
    assert read(target, "now") == [1, 2, 3, 4, 5, 6]
    target.sql(re.search(r"(update .*?) \(dbt_pack", messages["feed"].message)[1])  # type: ignore
    target.run()
    assert read(target, "feed") == [1, 3, 4, 5, 6]


@pytest.mark.more
def test_a_transaction_that_grows_is_named(make_project: Callable[..., Project]) -> None:
    """A record that lands behind the COMMIT of its transaction; of another table it is no loss."""
    target, writer = capture(make_project)
    begin, row, commit = writer.insert("items", id=1, name="n")
    others = writer.insert("others", id=1)
    target.land([begin, commit, *others[:1], *others[-1:]])
    target.run()
    target.land(others[1:-1])
    assert "too late" not in target.run().output
    target.land([row])
    result = target.project.dbt("run")
    for part in (
        f"CDC 22859: transaction {row.tran_id} of dbo.items, with the commit {commit.lsn}, has 3",
        "records in the log and had 2 when it was captured",
        "vars: {cdc_late_commits: pass}",
    ):
        assert part in result.output, result.output
    assert "no change table has them" in target.run(*PASS).output
    assert ids(target) == []


@pytest.mark.more
def test_a_late_truncate_is_named(make_project: Callable[..., Project]) -> None:
    target, writer = capture(make_project)
    first = writer.insert("items", id=1, name="n")
    truncate = writer.record("TRUNCATE", "items", tran_id=None)
    target.land([*first, *writer.insert("items", id=2, name="n")])
    target.run()
    target.land([truncate])
    refused(target, "1 transaction of dbo.items", truncate.lsn)


@pytest.mark.more
def test_below_the_low_end_nothing_is_late(make_project: Callable[..., Project]) -> None:
    """An instance that begins later has lost nothing, and a cleanup forgets what it removes."""
    target, writer = capture(make_project)
    first, late, third = (writer.insert("items", id=n, name="n") for n in (1, 2, 3))
    target.land([*first, *third])
    target.run()
    target.land(writer.insert("items", id=4, name="n"))
    target.run()
    target.project.ok("run-operation", "change_job", "--args", "{job_type: cleanup, retention: 1}")
    target.project.ok("run-operation", "cleanup")
    target.land(late)
    assert "too late" not in target.run().output


def test_before_the_first_commit_nothing_is_passed_over(
    make_project: Callable[..., Project],
) -> None:
    """It began behind the log's first record, and committed before the log's first commit."""
    target, writer = capture(make_project)
    writer.transactions = 1
    begin, *late = [writer.record("BEGIN"), *writer.insert("items", id=2, name="n")]
    first = replace(begin, tran_id="first")
    rest = [writer.record("INSERT", "items", after_image={"id": 1, "name": "n"}, tran_id="first")]
    rest.append(writer.record("COMMIT", tran_id="first"))
    target.land([first, *rest])
    target.run()
    target.land(late)
    refused(target, "1 transaction of dbo.items", late[-1].lsn)
    assert ids(target) == [1]


@pytest.mark.parametrize("seed", [0, pytest.param(3, marks=pytest.mark.more)])
def test_any_order_of_landing(make_project: Callable[..., Project], seed: int) -> None:
    """Whatever lands when: a run captures all that has landed, or says what came too late."""
    rng = random.Random(seed)
    target, writer = capture(make_project)
    log: list[list[LogRecord]] = [writer.insert("items", id=n, name="n") for n in range(8)]
    order = sorted(range(8), key=lambda n: n + rng.choice([0, 0, 0, 3]))
    landed: set[int] = set()
    seen: set[int] = set()
    passed: set[int] = set()
    for part in (order[:3], order[3:5], order[5:]):
        target.land(chain.from_iterable(log[n] for n in part))
        landed |= set(part)
        late = {n for n in landed - seen if seen and n < max(seen)}
        if late:
            refused(target, f"{len(late)} transaction", log[min(late)][-1].lsn)
            target.run(*PASS)
        else:
            target.run()
        seen |= landed - late
        passed |= late
        assert ids(target) == sorted(seen)
    assert passed, "all landed in order"


def part(writer: Writer, operation: str, tran_id: str, key: int | None = None) -> LogRecord:
    """A record of a transaction that is written among others."""
    image = {"id": key, "name": "n"} if key is not None else None
    table = "items" if key is not None else ""
    return writer.record(operation, table, after_image=image, tran_id=tran_id)


def test_parts_that_land_late(make_project: Callable[..., Project]) -> None:
    """Parts land when a scan has passed their places. As long as the COMMIT of their transaction is
    in no window they are captured; once it is, the run stops and names it."""
    target, writer = capture(make_project)
    opened = [part(writer, "INSERT", "open", n) for n in (1, 2, 3)]
    unknown = [part(writer, "BEGIN", "unknown"), part(writer, "INSERT", "unknown", 4)]
    grown = [part(writer, "INSERT", "grown", 5)]
    back = [part(writer, "INSERT", "back", 6), part(writer, "ROLLBACK", "back")]
    grown += [part(writer, "INSERT", "grown", 7), part(writer, "COMMIT", "grown")]
    target.land([opened[1], *grown[1:]])
    target.run()
    assert ids(target) == [7]
    # before and behind what the scan had of the one, and all that it lacked of the other
    target.land([opened[0], opened[2], *unknown, *back])
    assert "too late" not in target.run().output
    again = part(writer, "INSERT", "again", 8), part(writer, "COMMIT", "again")
    target.land([*again, part(writer, "COMMIT", "unknown")])
    target.run()
    assert ids(target) == [4, 7, 8]
    target.land([part(writer, "INSERT", "open", 9), part(writer, "COMMIT", "open")])
    target.run()
    assert ids(target) == [1, 2, 3, 4, 7, 8, 9]
    # the first part of one whose COMMIT was captured three windows ago
    target.land(grown[:1])
    result = target.project.dbt("run")
    for text in (
        f"CDC 22859: transaction grown of dbo.items, with the commit {grown[-1].lsn}, has 3",
        "records in the log and had 2 when it was captured",
    ):
        assert text in result.output, result.output
    assert "no change table has them" in target.run(*PASS).output
    assert ids(target) == [1, 2, 3, 4, 7, 8, 9]


@pytest.mark.more
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_any_order_of_records(make_project: Callable[..., Project], seed: int) -> None:
    """Transactions among each other, a few ids for all, each record on a way of its own; COMMITs
    come in order. All is captured in the end, or a run says what came too late."""
    rng = random.Random(seed)
    target, writer = capture(make_project)
    records: list[LogRecord] = []
    rows: dict[str, list[int]] = {}
    truth: list[int] = []
    for key in range(40):
        tran_id = rng.choice("abcd")
        if rng.random() < 0.3 and rows.get(tran_id):
            ends = rng.choice(["COMMIT", "COMMIT", "ROLLBACK"])
            records.append(part(writer, ends, tran_id))
            truth += rows.pop(tran_id) if ends == "COMMIT" else []
            rows.pop(tran_id, None)
        records.append(part(writer, "INSERT", tran_id, key))
        rows.setdefault(tran_id, []).append(key)
    for tran_id, keys in sorted(rows.items()):
        records.append(part(writer, "COMMIT", tran_id))
        truth += keys
    # none lands behind the COMMIT of its transaction
    arrivals: dict[str, int] = {}
    ends_at: dict[str, int] = {}
    for n, record in reversed(list(enumerate(records))):
        if record.operation in ("COMMIT", "ROLLBACK"):
            ends_at[record.tran_id or ""] = arrivals[record.lsn] = n // 8
        else:
            late = n // 8 + rng.choice([0, 0, 1, 2])
            arrivals[record.lsn] = min(ends_at[record.tran_id or ""], late)
    for step in range(1 + max(arrivals.values())):
        target.land(record for record in records if arrivals[record.lsn] == step)
        assert "too late" not in target.run().output
    assert ids(target) == sorted(truth)


TOLD = """select *, if(operation = 'COMMIT' and tran_id = 'told', to_json(named_struct(
    'begin_lsn', (select min(lsn) from {{ target.schema }}.landed where tran_id = 'told'),
    'records', 2, 'inserted', array(named_struct('source_schema', 'dbo', 'source_name', 'items')),
    'deleted', array(), 'updated', array(), 'schema_changes', array()
)), null) as `transaction` from {{ target.schema }}.landed
"""


@pytest.mark.more
def test_a_log_that_tells_some_transactions(make_project: Callable[..., Project]) -> None:
    """What is open when a window reads COMMITs alone is captured by the one that has its COMMIT."""
    target, writer = capture(make_project)
    target.project.write("models/raw_log.sql", TOLD)
    target.land([part(writer, "INSERT", "open", 1), *writer.insert("items", id=2, name="n")])
    target.run()
    later = part(writer, "INSERT", "later", 3)
    told = part(writer, "INSERT", "told", 4), part(writer, "COMMIT", "told")
    target.land([later, *told])
    target.run()
    assert ids(target) == [2, 4]
    rest = [part(writer, "INSERT", "open", 5), part(writer, "INSERT", "later", 6)]
    target.land([*rest, part(writer, "COMMIT", "open"), part(writer, "COMMIT", "later")])
    target.run()
    assert ids(target) == [1, 2, 3, 4, 5, 6]


OTHERWISE = [
    ("'records', 2", "'records', 3", "3 records from {first} on, inserts or deletes in dbo.i"),
    ("'items'", "'notes'", "2 records from {first} on, inserts or deletes in dbo.notes;"),
    ("'updated', array()", "'updated', array(named_struct('source_schema', 'dbo',"
     " 'source_name', 'items'))", "in dbo.items, updates in dbo.items;"),
    ("'schema_changes', array()", "'schema_changes', array(named_struct('lsn', lsn,"
     " 'operation', 'TRUNCATE', 'source_schema', 'dbo', 'source_name', 'items'))",
     "TRUNCATE of dbo.items at {commit};"),
    ("min(lsn)", "max(lsn)", "2 records from {commit} on, "),
]  # fmt: skip


@pytest.mark.more
def test_a_commit_that_tells_something_else(make_project: Callable[..., Project]) -> None:
    """Other records, tables or places than the log has: the window is not opened."""
    target, writer = capture(make_project)
    target.land(writer.insert("items", id=1, name="n"))
    target.run()
    first, commit = part(writer, "INSERT", "told", 2), part(writer, "COMMIT", "told")
    target.land([first, commit])
    for told, instead, says in OTHERWISE:
        target.project.write("models/raw_log.sql", TOLD.replace(told, instead))
        result = target.project.dbt("run")
        for text in (
            f"CDC 22859: bad log record of lsn {commit.lsn}, tran_id told, column transaction: it",
            says.format(first=first.lsn, commit=commit.lsn),
            f"; the log has 2 records from {first.lsn} on, inserts or deletes in dbo.items: noth",
            "or leave it NULL: then the scan reads all records",
        ):
            assert text in result.output, result.output
    times = TOLD.replace("'records', 2", "'records', 2, 'begin_time', '01.03.2026 12:00'")
    target.project.write("models/raw_log.sql", times)
    text = f"lsn {commit.lsn}, tran_id told: its column transaction tells the time 01.03.2026 12:00"
    assert text in target.project.dbt("run").output
    target.project.write("models/raw_log.sql", TOLD)
    target.run()
    assert ids(target) == [1, 2]


def telling(told: dict[str, tuple[str, int]]) -> str:
    """A log whose COMMITs, by LSN, tell a first LSN and a number of records."""
    text = TOLD.replace(" and tran_id = 'told'", "")
    begins = " ".join(f"when '{lsn}' then '{begin}'" for lsn, (begin, _) in told.items())
    counts = " ".join(f"when '{lsn}' then {records}" for lsn, (_, records) in told.items())
    begin = text[text.index("(select min(lsn)") : text.index("'told'),") + len("'told')")]
    return text.replace(begin, f"case lsn {begins} end").replace(
        "'records', 2", f"'records', case lsn {counts} end"
    )


@pytest.mark.more
@pytest.mark.parametrize("end", [None, "ROLLBACK"])
def test_records_of_an_earlier_batch(make_project: Callable[..., Project], end: str | None) -> None:
    """A COMMIT that tells the records of its batch leaves out those that landed before; one that
    begins too low takes in those of another transaction that had its id."""
    target, writer = capture(make_project)
    early = [part(writer, "INSERT", "long", 1), *([part(writer, end, "long")] if end else [])]
    short = [part(writer, "INSERT", "short", 2), part(writer, "COMMIT", "short")]
    told = {short[1].lsn: (short[0].lsn, 2)}
    target.project.write("models/raw_log.sql", telling(told))
    target.land([*early, *short])
    target.run()
    assert ids(target) == [2]
    late = [part(writer, "INSERT", "long", 3), part(writer, "COMMIT", "long")]
    target.land(late)
    first, other = (early[0].lsn, late[0].lsn)
    wrong, right = ((first, 2), (other, 2)) if end else ((other, 2), (first, 3))
    target.project.write("models/raw_log.sql", telling({**told, late[1].lsn: wrong}))
    result = target.project.dbt("run")
    assert f"it tells 2 records from {wrong[0]} on, " in result.output, result.output
    assert f"the log has {right[1]} records from {right[0]} on, " in result.output, result.output
    target.project.write("models/raw_log.sql", telling({**told, late[1].lsn: right}))
    target.run()
    assert ids(target) == ([2, 3] if end else [1, 2, 3])


@pytest.mark.more
def test_what_old_commits_tell_is_checked_where_an_instance_begins_with_them(
    make_project: Callable[..., Project],
) -> None:
    """The column came later: no window has compared it with the records before."""
    target, writer = capture(make_project)
    old = writer.insert("items", id=1, name="n")
    target.land(old)
    target.run()
    new = writer.insert("items", id=2, name="n")
    target.land(new)
    told = {new[-1].lsn: (new[0].lsn, len(new))}
    lies = {**told, old[-1].lsn: (old[-1].lsn, 1)}
    target.project.write("models/raw_log.sql", telling(lies))
    target.project.write("models/again.yml", instance_yaml([AGAIN], capture_from="log_start"))
    target.project.write("models/items_again_ct.sql", "{{ dbt_cdc.change_table() }}")
    result = target.project.dbt("run")
    assert f"of lsn {old[-1].lsn}, tran_id {old[-1].tran_id}, column transaction" in result.output
    told[old[-1].lsn] = (old[0].lsn, len(old))
    target.project.write("models/raw_log.sql", telling(told))
    # what was cut is no lie
    target.amend(old[0].lsn)
    target.run()
    assert ids(target) == [1, 2]
    assert ids(target, AGAIN)[-1:] == [2]


@pytest.mark.more
def test_a_log_without_a_commit_that_is_spelled_so(make_project: Callable[..., Project]) -> None:
    """Nothing would ever be captured of it, in silence; and a TRUNCATE names its table."""
    target, writer = capture(make_project)
    first, commit = part(writer, "INSERT", "t", 1), part(writer, "COMMIT", "t")
    target.land([first, replace(commit, operation="COMMIT  ")])
    text = f"CDC 22859: bad log record of no table, column operation, lsn {commit.lsn}: the operat"
    result = target.project.dbt("run")
    assert text in result.output and "ion is 'COMMIT  ': " in result.output, result.output
    target.amend(commit.lsn, operation="COMMIT")
    target.run()
    nameless = replace(writer.record("TRUNCATE", "items", tran_id=None), source_schema=None)
    target.land([nameless, *writer.insert("items", id=2, name="n")])
    text = f"lsn {nameless.lsn}: a record of operation TRUNCATE names no source table"
    assert text in target.project.dbt("run").output
    target.amend(nameless.lsn, source_schema="dbo")
    target.run()
    assert target.intervals()["dbo_items"][0] > commit.lsn


@pytest.mark.parametrize(
    "start",
    [pytest.param(0, marks=pytest.mark.more), 0x1000],
    ids=["below", "in the same places"],
)
def test_lsns_that_begin_anew(make_project: Callable[..., Project], start: int) -> None:
    """A source that was restored: what it does since is never passed over as seen."""
    target, writer = capture(make_project)
    writer.records = 0x1000
    for n in (1, 2):
        target.land(writer.insert("items", id=n, name="n"))
        target.run()
    anew = Writer()
    anew.records, anew.transactions, anew.time = start, 7, writer.time
    late = anew.insert("items", id=3, name="n")
    target.land(late)
    result = target.project.dbt("run")
    for text in (
        f"CDC 22859: the log was captured up to {writer.last}, and has a later commit below, "
        f"{late[-1].lsn} (tran_id t8, ",
        "its LSNs began anew, or times of captured commits were edited: LSNs only rise: give what",
        "vars: {cdc_late_commits: pass} until later commits are captured",
    ):
        assert text in result.output, result.output
    assert "edited; no change table has what came anew" in target.run(*PASS).output
    assert ids(target) == [1, 2]


@pytest.mark.more
def test_the_choice_is_checked(make_project: Callable[..., Project]) -> None:
    target, writer = capture(make_project)
    target.land(writer.insert("items", id=1, name="n"))
    target.run()
    result: Any = target.project.dbt("run", "--vars", "{cdc_late_commits: keep}")
    assert "CDC 22963: var cdc_late_commits is 'keep': give 'stop' or 'pass'" in result.output
