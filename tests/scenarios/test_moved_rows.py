"""Rows whose key changes while a large value of theirs is not logged, as PostgreSQL writes them
without `replica identity full`: consumers hold what the source holds."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise

import pytest
from capturing import Capture
from consuming import valid_at
from harness import IS_ALL, Project
from reference.capture import CaptureInstance, capture
from reference.log import LogRecord, int_to_lsn
from reference.permuted import START

pytestmark = pytest.mark.slow

DOCS = CaptureInstance(
    "dbo", "docs", "dbo_docs",
    (("id", "int"), ("title", "string"), ("body", "string")),
    ("id",), "partial",
)  # fmt: skip
SELECT = "select * from {{ dbt_cdc.new_changes('dbo_docs') }}"
MODELS = {
    "now.sql": "{{ config(materialized='replica') }}" + SELECT,
    "then.sql": "{{ config(materialized='history') }}" + SELECT,
}
Row = dict[str, object]


class Source:
    """A table with a large column: an unchanged `body` is not logged again, and of an old row
    nothing but its key is."""

    def __init__(self, seed: int) -> None:
        self.rng, self.number, self.rows = random.Random(seed), 0, {}
        self.states: list[tuple[str, dict[int, Row]]] = [("", {})]
        self.records: list[LogRecord] = []

    def transaction(self) -> Iterator[LogRecord]:
        """Some statements of one row each."""
        tran_id = f"t{self.number}"
        yield self.record(tran_id, "BEGIN")
        for _ in range(self.rng.randint(1, 4)):
            yield self.record(tran_id, *self.statement())
        record = self.record(tran_id, "COMMIT")
        self.states.append((record.lsn, {key: dict(row) for key, row in self.rows.items()}))
        yield record

    def statement(self) -> tuple[str, Row | None, Row | None]:
        """A change of the table: its operation, and its images as they are logged."""
        rng, free = self.rng, [key for key in range(12) if key not in self.rows]
        if len(self.rows) < 4:
            row: Row = {"id": rng.choice(free), "title": "new", "body": self.text()}
            self.rows[row["id"]] = row
            return "INSERT", None, row
        key = rng.choice(sorted(self.rows))
        row = self.rows.pop(key)
        if rng.random() < 0.15:
            return "DELETE", {"id": key}, None
        new = row | {"title": f"title {self.number}"}
        if rng.random() < 0.3:
            new["body"] = self.text()
        if rng.random() < 0.6:
            new["id"] = rng.choice(free)
        self.rows[new["id"]] = new
        is_same = new["body"] == row["body"] and row["body"] is not None
        logged = {name: new[name] for name in new if name != "body" or not is_same}
        return "UPDATE", {"id": key} if new["id"] != key else None, logged

    def text(self) -> str | None:
        return self.rng.choice([f"body {self.number}", None])

    def record(self, tran_id: str, operation: str, *images: Row | None) -> LogRecord:
        self.number += 1
        names = ("before_image", "after_image")
        texts = {n: json.dumps(i) for n, i in zip(names, images, strict=False) if i is not None}
        table = {"source_schema": "dbo", "source_name": "docs"} if images else {}
        time = START + timedelta(seconds=self.number)
        record = LogRecord(int_to_lsn(self.number), tran_id, operation, time, **table, **texts)
        self.records.append(record)
        return record


def contents(found: list) -> dict[int, Row]:
    assert len({row.id for row in found}) == len(found)
    return {row.id: {name: row[name] for name in DOCS.names} for row in found}


def test_consumers_hold_the_source(make_project: Callable[..., Project]) -> None:
    """In windows of many transactions and of one, where a row moves more than once in one; at last
    behind a cleanup, so that the log alone tells the values."""
    source, target = Source(5), Capture(make_project, [DOCS], models=MODELS)
    cleaned_lsn = None
    windows = ((40, False), (1, False), (30, True)) if IS_ALL else ((30, False), (20, True))
    for transactions, is_cleaned in windows:
        if is_cleaned:
            cleaned_lsn = source.records[-1].lsn
            target.sql("delete from {schema}.dbo_docs_ct")
        landed = [record for _ in range(transactions) for record in source.transaction()]
        target.land(landed)
        target.run()
        assert target.changes(DOCS) == capture(source.records, DOCS, cleaned_lsn)
        assert contents(target.sql("select * from {schema}.now")) == source.rows
        _, *ends = published(target)
        ends = [end for end in ends if end > (cleaned_lsn or "")]
        for low, high in ((ends[0], ends[-1]), (ends[len(ends) // 2], ends[-1])) if ends else ():
            before = max(state for state in source.states if state[0] < low)[1]
            net = target.call("fn_cdc_get_net_changes_dbo_docs", low, high, "all with mask")
            assert applied(before, net) == source.rows
    versions = target.sql("select * from {schema}.then")
    for lsn, expected in source.states:
        assert contents(valid_at(versions, lsn)) == expected, lsn


def published(target: Capture) -> list[str]:
    rows = target.sql("select start_lsn from {schema}.lsn_time_mapping order by start_lsn")
    return [row.start_lsn for row in rows]


def applied(before: dict[int, Row], net: list) -> dict[int, Row]:
    """An update keeps a body that it does not tell."""
    after = {k: v for k, v in before.items() if k not in {row.id for row in net}}
    for key, row in contents([row for row in net if row["__$operation"] != 1]).items():
        (change,) = (row for row in net if row.id == key)
        is_update = change["__$operation"] == 4 and not int(change["__$update_mask"], 16) & 4
        after[key] = row | ({"body": before[key]["body"]} if is_update else {})
    return after


@pytest.mark.more
@pytest.mark.parametrize(
    ("data_type", "keys"),
    [
        ("timestamp", [f"2024-03-01T12:00:00.00000{n}" for n in range(4)]),
        ("binary", ["/w==", "/g==", "/Q==", "/A=="]),
    ],
)
def test_keys_that_differ_little(
    make_project: Callable[..., Project], data_type: str, keys: list[str]
) -> None:
    """Each row keeps its own large value where no INSERT of it is in the log."""
    columns = (("id", data_type), ("title", "string"), ("body", "string"))
    docs = CaptureInstance("dbo", "docs", "dbo_docs", columns, ("id",), "partial")
    target, source = Capture(make_project, [docs]), Source(1)
    one, other, new, newer = ({"id": key, "title": "x"} for key in keys)
    target.land([
        source.record("a", "BEGIN"),
        source.record("a", "UPDATE", None, {**one, "body": "one"}),
        source.record("a", "UPDATE", None, {**other, "body": "other"}),
        source.record("a", "UPDATE", {"id": keys[0]}, new),
        source.record("a", "UPDATE", {"id": keys[1]}, newer),
        source.record("a", "COMMIT"),
    ])  # fmt: skip
    target.run()
    found = target.sql("select * from {schema}.dbo_docs_ct order by `__$seqval`, `__$operation`")
    assert [row.body for row in found if row["__$operation"] == 2] == ["one", "other"]


@pytest.mark.more
def test_what_nothing_tells_is_said(make_project: Callable[..., Project]) -> None:
    """The row at the old key came before the log."""
    target = Capture(make_project, [DOCS])
    source = Source(1)
    target.land([
        source.record("a", "BEGIN"),
        source.record("a", "UPDATE", {"id": 1}, {"id": 2, "title": "x"}),
        source.record("a", "UPDATE", {"id": 2}, {"id": 3, "title": "x"}),
        source.record("a", "UPDATE", {"id": 7}, {"id": 8, "body": None}),
        source.record("a", "COMMIT"),
    ])  # fmt: skip
    output = target.run().output
    assert (
        "capture instance 'dbo_docs': column body is NULL in 2 rows that got another key, the first"
        " at LSN 0x00000000000000000002: the log leaves out its value" in output
    )
    assert "column title is NULL in 1 rows" in output
    assert target.changes(DOCS) == capture(source.records, DOCS)


@pytest.mark.more
def test_columns_may_be_called_as_one_likes(make_project: Callable[..., Project]) -> None:
    """Their values are found beside columns of the query's own; a row whose INSERT is older than
    the column does not tell it."""
    names = ("life", "parent", "change", "origins", "untold", "found")
    columns = (("id", "int"), *((name, "string") for name in names))
    wide = CaptureInstance("dbo", "docs", "dbo_docs", columns, ("id",), "partial")
    target, source = Capture(make_project, [wide]), Source(1)
    target.land([
        source.record("a", "BEGIN"),
        source.record("a", "INSERT", None, {"id": 1, **{name: name for name in names[1:]}}),
        source.record("a", "COMMIT"),
        source.record("b", "BEGIN"),
        source.record("b", "UPDATE", {"id": 1}, {"id": 2, "parent": "y"}),
        source.record("b", "COMMIT"),
    ])  # fmt: skip
    assert "column life is NULL in 1 rows that got another key" in target.run().output
    *_, row = target.changes(wide)
    assert row.values == (2, None, "y", *names[2:])


@pytest.mark.more
def test_null_is_a_key_value_like_any_other(make_project: Callable[..., Project]) -> None:
    """Of a unique key, before and after the row moves."""
    keyed = CaptureInstance(
        "dbo", "docs", "dbo_docs", (("tenant", "int"), ("code", "string"), ("body", "string")),
        ("tenant", "code"), "partial",
    )  # fmt: skip
    target, source = Capture(make_project, [keyed], models=MODELS), Source(1)
    keys = [{"tenant": tenant, "code": code} for tenant, code in
            ((None, "a"), (None, "b"), (5, "b"), (5, None))]  # fmt: skip
    target.land([
        source.record("a", "BEGIN"),
        source.record("a", "INSERT", None, {**keys[0], "body": "long"}),
        source.record("a", "INSERT", None, {"tenant": 1, "code": "a", "body": "other"}),
        source.record("a", "COMMIT"),
    ])  # fmt: skip
    target.run()
    for old, new in pairwise(keys):
        target.land([
            source.record(str(new), "BEGIN"),
            source.record(str(new), "UPDATE", old, new),
            source.record(str(new), "COMMIT"),
        ])  # fmt: skip
        target.run()
        assert target.changes(keyed)[-1].values == (*new.values(), "long")
        found = target.sql("select * from {schema}.now where body = 'long'")
        assert [tuple(row)[:2] for row in found] == [tuple(new.values())]


@pytest.mark.more
def test_what_is_looked_up_has_encodings_of_its_own(make_project: Callable[..., Project]) -> None:
    """The row at the old key came when decimals were bytes; the window's are text, and cleanup has
    taken the row from the change table."""
    priced = CaptureInstance(
        "dbo", "docs", "dbo_docs",
        (("id", "int"), ("price", "decimal(10,2)"), ("body", "string")),
        ("id",), "partial",
    )  # fmt: skip
    log = """select *, if(tran_id = 'a', '{"price":"org.apache.kafka.connect.data.Decimal(2)"}',
        '{"price":"string"}') as encodings from {{ target.schema }}.landed"""
    target, source = Capture(make_project, [priced], models={"raw_log.sql": log}), Source(1)
    target.land([
        source.record("a", "BEGIN"),
        source.record("a", "INSERT", None, {"id": 1, "price": "AfQ=", "body": "long"}),
        source.record("a", "COMMIT"),
    ])  # fmt: skip
    target.run()
    target.sql("delete from {schema}.dbo_docs_ct")
    target.land([
        source.record("b", "BEGIN"),
        source.record("b", "UPDATE", {"id": 1}, {"id": 2, "price": "6.00"}),
        source.record("b", "COMMIT"),
    ])  # fmt: skip
    assert "is NULL in" not in target.run().output
    (row,) = (row for row in target.changes(priced) if row.operation == 2)
    assert row.values == (2, Decimal("6.00"), "long")


@pytest.mark.more
def test_a_key_of_blanks_is_looked_up_in_the_change_table(
    make_project: Callable[..., Project],
) -> None:
    """Spark pads a char(n) where it reads a table; the log no longer has the row."""
    coded = CaptureInstance(
        "dbo", "docs", "dbo_docs", (("code", "char(5)"), ("body", "string")), ("code",), "partial"
    )  # fmt: skip
    target, source = Capture(make_project, [coded]), Source(1)
    inserted = source.record("a", "INSERT", None, {"code": "A", "body": "long"})
    target.land([inserted, source.record("a", "COMMIT")])
    target.run()
    target.amend(inserted.lsn)
    target.land([
        source.record("b", "UPDATE", {"code": "A"}, {"code": "B"}),
        source.record("b", "COMMIT"),
    ])  # fmt: skip
    assert "is NULL in" not in target.run().output
    *_, row = target.changes(coded)
    assert [str(value).rstrip() for value in row.values] == ["B", "long"]
