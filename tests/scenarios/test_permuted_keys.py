"""Keys that pass over each other: net changes, replicas and histories hold the source's tables."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from asking import rows
from capturing import LAST, Capture, plain_values
from consuming import valid_at
from harness import IS_ALL, Project
from pyspark.sql import Row
from reference.apply import State, apply_net, differences
from reference.capture import capture
from reference.change_tracking import ChangeTracking, TrackedTable
from reference.log import LogRecord, int_to_lsn
from reference.permuted import PLACES, PermutedLog, Rows, make_permuted_log
from reference.query import NET_OPTIONS, NetRow, get_net_changes
from tracking import Tracking, with_masks
from transactions import Writer

pytestmark = pytest.mark.slow

TABLES, PARTS = 60, 5 if IS_ALL else 2
SELECT = "select * from {{ dbt_cdc.new_changes('dbo_places') }}"
TRACKED = TrackedTable("dbo", "places", PLACES.columns, ("id",))
LOG = (
    "{{{{ config(meta={{'cdc_connector': '{}'}}) }}}} select * from {{{{ target.schema }}}}.landed"
)
MODELS = {
    "now.sql": "{{ config(materialized='replica') }}" + SELECT,
    "then.sql": "{{ config(materialized='history') }}" + SELECT,
}


@pytest.fixture(
    scope="module",
    params=["complete", *(pytest.param(p, marks=pytest.mark.more) for p in ("whole", "partial"))],
)
def followed(
    request: pytest.FixtureRequest, make_project: Callable[..., Project]
) -> tuple[Capture, PermutedLog, str]:
    """Many small tables in one, consumed in a few runs. A delete without a value tells nothing, but
    where the source's deletes are whole: there are none elsewhere."""
    mode, models, values = request.param, MODELS, ("a", "b", "c")
    if mode == "whole":
        mode, values = "complete", ("a", "b", None)
        models = {**MODELS, "raw_log.sql": LOG.format("postgresql")}
    log = make_permuted_log(11, TABLES, 8, is_empty=True, values=values)
    target = Capture(make_project, [PLACES], models=models, before_image=mode)
    done = ""
    for part in range(1, PARTS + 1):
        border = LAST if part == PARTS else log.records[len(log.records) * part // PARTS].lsn
        target.land(record for record in log.records if done < record.lsn <= border)
        done = border
        target.run()
        (end,) = target.sql("select max(start_lsn) as lsn from {schema}.lsn_time_mapping")
        _, expected = max(state for state in log.states if state[0] <= end.lsn)
        assert contents(target.sql("select * from {schema}.now")) == expected
    return target, log, mode


def contents(found: list[Row]) -> Rows:
    """Rows of a consumer; no key twice."""
    assert len({row.id for row in found}) == len(found)
    return {row.id: row.v for row in found}


def test_a_history_has_every_state(followed: tuple[Capture, PermutedLog, str]) -> None:
    target, log, _ = followed
    versions = target.sql("select * from {schema}.then")
    for lsn, expected in log.states:
        assert contents(valid_at(versions, lsn)) == expected, lsn


def test_net_changes_of_windows(followed: tuple[Capture, PermutedLog, str]) -> None:
    target, log, mode = followed
    instance = replace(PLACES, before_image=mode)
    changes = capture(log.records, instance)
    published = sorted({row.start_lsn for row in changes})
    borders = [published[len(published) * n // 7] for n in range(7)]
    windows = [(low, int_to_lsn(int(high, 16) - 1)) for low, high in pairwise(borders)]
    windows += [(borders[1], borders[5]), (borders[2], published[-1])]
    calls = [(low, high, option) for low, high in windows for option in NET_OPTIONS]
    found = rows(target, [f"get_net_changes('dbo_places', {call})" for call in
                          (f"'{a}', '{b}', '{c}'" for a, b, c in calls)])  # fmt: skip
    for (low, high, option), answer in zip(calls, found, strict=True):
        limits: dict[str, Any] = {"min_lsn": published[0], "max_lsn": published[-1]}
        expected = get_net_changes(changes, instance, low, high, option, **limits)
        nets = [
            NetRow(row["__$start_lsn"], row["__$operation"], row["__$update_mask"],
                   plain_values(row, PLACES))
            for row in answer
        ]  # fmt: skip
        assert sorted(map(repr, nets)) == sorted(map(repr, expected))
        by_function = target.call("fn_cdc_get_net_changes_dbo_places", low, high, option)
        assert sorted(map(repr, by_function)) == sorted(map(repr, answer))
        before = max(state for state in log.states if state[0] < low)[1]
        after = max(state for state in log.states if state[0] <= high)[1]
        assert not differences(apply_net(as_state(before), nets), as_state(after))


@pytest.fixture(scope="module")
def tracked(make_project: Callable[..., Project]) -> tuple[Tracking, PermutedLog]:
    """Rows that differ by their values."""
    values = [f"row {number}" for number in range(9999)]
    log = make_permuted_log(12, TABLES, 8, is_empty=True, values=values)
    target = Tracking(make_project, [TRACKED])
    target.land(log.records)
    target.run()
    return target, log


def test_a_client_of_change_tracking_knows_the_keys(
    tracked: tuple[Tracking, PermutedLog],
) -> None:
    target, log = tracked
    reference = ChangeTracking([TRACKED])
    reference.follow(log.records)
    known: set[int] = set()
    last = 0
    rng = random.Random(5)
    found = target.sql("select * from {schema}.change_tracking_dbo_places")
    for commit in reference.commits:
        of_version = [row for row in found if row.sys_change_version == commit.version]
        gone = {row.id for row in of_version if row.sys_change_operation == "D"}
        here = {row.id for row in of_version if row.sys_change_operation != "D"}
        known = known - gone | here
        (state,) = (state for lsn, state in log.states if lsn == commit.lsn)
        assert known == state.keys(), commit
        if rng.random() < 0.02:
            asked = target.changes_of(TRACKED, last)
            assert asked == with_masks(reference.changes(TRACKED, last))
            last = commit.version


Image = dict[str, Any] | None


def row(number: int, text: str | None) -> Image:
    return {"id": number, "v": text}


def transaction(writer: Writer, images: Iterable[tuple[Image, Image]]) -> list[LogRecord]:
    changed = [writer.commit("places", before, after)[1] for before, after in images]
    one = [replace(record, tran_id="t") for record in changed]
    return [*one, replace(writer.record("COMMIT"), tran_id="t")]


@pytest.mark.more
def test_a_key_that_is_checked_at_commit(make_project: Callable[..., Project]) -> None:
    """A row comes to a key and is updated there before the one that was there leaves it."""
    target, writer = Capture(make_project, [PLACES], models=MODELS), Writer()
    target.land(transaction(writer, [(None, row(1, "a")), (None, row(2, "x"))]))
    target.run()
    moves = [(row(1, "a"), row(2, "a")), (row(2, "a"), row(2, "b")), (row(2, "x"), row(1, "x"))]
    target.land(transaction(writer, moves))
    target.run()
    expected = {1: "x", 2: "b"}
    assert contents(target.sql("select * from {schema}.now")) == expected
    assert contents(valid_at(target.sql("select * from {schema}.then"), LAST)) == expected
    current = target.sql("select * from {schema}.then where valid_to_lsn is null")
    assert contents(current) == expected


@pytest.mark.parametrize("connector", [pytest.param("sqlserver", marks=pytest.mark.more), None])
def test_deletes_that_lack_values(
    make_project: Callable[..., Project], connector: str | None
) -> None:
    """A row that comes and goes in one transaction leaves none; one that comes back is another.
    SQL Server's deletes lack large values, those of a log of one's own any."""
    log = {"raw_log.sql": LOG.format(connector)} if connector else {}
    target = Capture(make_project, [PLACES], models={**MODELS, **log})
    writer = Writer()

    def change(*images: tuple[Image, Image]) -> None:
        target.land(transaction(writer, images))
        target.run()

    change((None, row(1, "kept")), (None, row(5, "a")), (row(5, None), None))
    change((None, row(6, "a")), (row(6, "a"), row(6, "b")), (row(6, None), None))
    assert contents(target.sql("select * from {schema}.now")) == {1: "kept"}
    assert contents(valid_at(target.sql("select * from {schema}.then"), LAST)) == {1: "kept"}
    call = "get_net_changes('dbo_places', '{}', '{}', 'all')"
    (bounds,) = target.sql("select min(start_lsn) as low, max(start_lsn) as high from"
                           " {schema}.lsn_time_mapping")  # fmt: skip
    ((kept,),) = rows(target, [call.format(bounds.low, bounds.high)])
    assert kept["id"] == 1
    change((row(1, None), None), (None, row(1, None)))
    assert contents(target.sql("select * from {schema}.now")) == {1: None}
    # keys of an index that is not clustered change row by row
    change((None, row(2, "two")), (row(1, None), row(1, "one")))
    change((row(1, "one"), row(2, "one")), (row(2, "two"), row(1, "two")))
    assert contents(target.sql("select * from {schema}.now")) == {1: "two", 2: "one"}
    assert contents(valid_at(target.sql("select * from {schema}.then"), LAST)) == {
        1: "two",
        2: "one",
    }


def test_change_tracking_of_deletes_that_lack_values(make_project: Callable[..., Project]) -> None:
    writer = Writer()
    one = {"id": 1, "v": "one"}
    inserted, updated, deleted = (
        replace(writer.commit("places", before, after)[1], tran_id="t")
        for before, after in [(None, one), (one, {**one, "v": "two"}), ({"id": 1}, None)]
    )
    target = Tracking(make_project, [TRACKED])
    target.land([inserted, updated, deleted, replace(writer.record("COMMIT"), tran_id="t")])
    target.run()
    ((operation, existed),) = target.sql("select sys_change_operation, sys_change_existed from"
                                         " {schema}.change_tracking_dbo_places")  # fmt: skip
    assert (operation, existed) == ("D", False)


def as_state(content: Rows) -> State:
    state = State(PLACES)
    for values in content.items():
        state.upsert(values, int_to_lsn(0), None)
    return state


@pytest.mark.more
def test_rows_of_the_change_table_stay_in_the_order_of_the_log(
    followed: tuple[Capture, PermutedLog, str],
) -> None:
    target, log, _ = followed
    assert target.changes(PLACES) == capture(log.records, PLACES)
