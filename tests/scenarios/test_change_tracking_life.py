"""Tracked tables beside captured ones, late, away, truncated; bad models; runs that die."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from harness import Project, new_schema
from reference.capture import CaptureInstance
from reference.change_tracking import ChangeTracking, TrackedTable
from reference.log import UTC
from statements import dying_at
from tracking import Tracking, TrackingWriter, tracked_models, with_masks

pytestmark = pytest.mark.slow

ITEMS = TrackedTable("dbo", "items", (("id", "int"), ("name", "string")), ("id",), False)
NOTES = TrackedTable(
    "dbo", "notes", (("a", "int"), ("b", "int"), ("x", "int"), ("y", "string")), ("b", "a")
)
LATE = TrackedTable("dbo", "late", (("id", "int"),), ("id",), False)
CAPTURED = CaptureInstance(
    "dbo", "items", "dbo_items", (("id", "int"), ("name", "string")), ("id",)
)
START = datetime(2024, 5, 1, tzinfo=UTC)


def row(key: int, name: str = "n") -> dict[str, Any]:
    return {"id": key, "name": name}


def take_out_late(tracking: Tracking, *left: TrackedTable) -> None:
    """The project has these tables, and no model of LATE any more."""
    (tracking.project.folder / "models" / "change_tracking_dbo_late.sql").unlink()
    tracking.project.write("models/tracked.yml", tracked_models(left)["tracked.yml"])


def check(tracking: Tracking, reference: ChangeTracking, step: int = 1) -> None:
    """From every `step`-th baseline the project answers as the reference does."""
    current = reference.current_version
    assert tracking.value("change_tracking_current_version()") == current
    for table in reference.tables:
        low = reference.min_valid[table.table]
        assert tracking.value(f"change_tracking_min_valid_version('{table.table}')") == low
        for last_sync in [None, *range(low, current + 1, step)]:
            wanted = with_masks(reference.changes(table, last_sync))
            assert tracking.changes_of(table, last_sync) == wanted, (table.table, last_sync)


@pytest.mark.more
def test_goes_on_without_capture(make_project: Callable[..., Project]) -> None:
    """Once the last capture model is removed, the tracked table's versions still move."""
    tracking = Tracking(make_project, [ITEMS], [CAPTURED])
    writer, reference = TrackingWriter(START), ChangeTracking([ITEMS])
    for number in range(3):
        writer.commit(("INSERT", "items", None, row(number)))
        tracking.land(writer.new())
        tracking.run()
        reference.follow(writer.records)
        version = tracking.value("change_tracking_current_version()")
        assert version == reference.current_version == number + 1
        if not number:
            for file in ("dbo_items_ct.sql", "instances.yml"):
                (tracking.project.folder / "models" / file).unlink()
    check(tracking, reference, step=3)


def test_a_project_that_only_tracks(make_project: Callable[..., Project]) -> None:
    """It has no change table and no validity intervals, and is administered all the same. A
    computed column never changes, so an update of all others is one of all columns."""
    table = TrackedTable("dbo", "sums", (("id", "int"), ("n", "int"), ("twice", "int")), ("id",))
    tracking = Tracking(make_project, [table])
    yaml = json.loads(tracked_models([table])["tracked.yml"])
    yaml["models"][0]["columns"][2]["meta"] = {"is_computed": True}
    tracking.project.write("models/tracked.yml", json.dumps(yaml))
    writer = TrackingWriter(START)
    writer.commit(("INSERT", "sums", None, {"id": 1, "n": 2}))
    writer.commit(("UPDATE", "sums", {"id": 1, "n": 2}, {"id": 1, "n": 3}))
    tracking.land(writer.new())
    tracking.run()
    (changed,) = tracking.changes_of(table, 1)
    assert changed[2:4] == ("U", None), changed
    tracking.sql("drop view if exists {schema}.validity_intervals")
    made = tracking.operation("create_functions")
    assert "created" in made and "changetable_changes_dbo_sums" in made
    assert "fn_cdc_get_min_lsn" not in made
    done = tracking.operation("cleanup", vacuum_hours=168)
    assert "cleanup: no change table has anything published" in done


QUERIES = {
    "changes.sql": "select * from {{ dbt_cdc.changetable_changes('dbo.items', none) }}",
    "one.sql": "select * from {{ dbt_cdc.changetable_version('dbo.items', [1]) }}",
    "version.sql": "select {{ dbt_cdc.change_tracking_current_version() or 'null' }} as version,"
    " {{ dbt_cdc.change_tracking_min_valid_version('dbo.items') or 0 }} as min_valid_version",
}


@pytest.mark.more
def test_where_a_query_reads(make_project: Callable[..., Project]) -> None:
    """Before anything is published it is an error that says so, and with --empty none. In the
    schema of a pull request it reads production's side table in the versions published there."""
    tracking = Tracking(make_project, [ITEMS], models=QUERIES)
    project, writer = tracking.project, TrackingWriter(START)
    for _ in range(2):  # nothing is there, and then the side table
        result = project.dbt("run")
        for name in ("changes", "one"):
            message = result.messages[name].message
            assert "CDC 22105: nothing is published yet of the changes of table dbo.it" in message
        project.ok("run", "--empty")
        assert tracking.sql("select * from {schema}.changes") == []
    writer.commit(("INSERT", "items", None, row(1)))
    writer.commit(("INSERT", "items", None, row(2)))
    tracking.land(writer.new())
    tracking.run()
    project.ok("parse", "--write-json")
    shutil.copytree(project.folder / "target", project.folder / "state", dirs_exist_ok=True)
    profiles = project.folder / "profiles.yml"
    text = profiles.read_text(encoding="utf-8")
    other = new_schema("pull_request")
    profiles.write_text(text.replace(tracking.schema, other), encoding="utf-8")
    names = [name.removesuffix(".sql") for name in QUERIES]
    project.ok("run", "--select", *names, "--defer", "--state", "state")
    for schema in (tracking.schema, other):
        found = tracking.sql(f"select id, sys_change_version from {schema}.changes order by id")
        assert [tuple(row) for row in found] == [(1, 1), (2, 2)], schema
        (one,) = tracking.sql(f"select sys_change_version from {schema}.one")
        (version,) = tracking.sql(f"select * from {schema}.version")
        assert (one[0], *version) == (1, 2, 0), schema


@pytest.mark.more
@pytest.mark.parametrize("how", ["TRUNCATE", "DDL"])
def test_a_table_that_is_emptied(make_project: Callable[..., Project], how: str) -> None:
    """Truncated, or dropped (a DDL record without an image says so) and filled again: nobody who
    has read before gets a window that lacks the deletes; the other table goes on."""
    tracking = Tracking(make_project, [ITEMS, LATE])
    writer, reference = TrackingWriter(START), ChangeTracking([ITEMS, LATE])
    for number in range(2):
        writer.commit(("INSERT", "items", None, row(number)))
        writer.commit(("INSERT", "late", None, {"id": number}))
    tracking.land(writer.new())
    tracking.run()
    writer.commit(("INSERT", "items", None, row(2)), (how, "items"))
    writer.commit(("INSERT", "items", None, row(1)))
    tracking.land(writer.new())
    tracking.run()
    reference.follow(writer.records)
    assert reference.min_valid == {"dbo.items": 5, "dbo.late": 0}
    check(tracking, reference)
    with pytest.raises(Exception, match="CDC 313: last_sync_version 4 is below the minimum valid"):
        tracking.asked(ITEMS, 4)


@pytest.mark.more
def test_a_table_that_leaves_while_a_window_is_open(make_project: Callable[..., Project]) -> None:
    """It never was published; the versions that the others have written stay what they are."""
    tracking, writer = Tracking(make_project, [ITEMS]), TrackingWriter(START)

    def run(*arguments: str) -> None:
        tracking.land(writer.new())
        tracking.run(*arguments)

    writer.commit(("INSERT", "items", None, row(1)))
    run()
    files = tracked_models([ITEMS, LATE])
    for path, text in files.items():
        tracking.project.write(f"models/{path}", text)
    writer.commit(("INSERT", "late", None, {"id": 1}))
    writer.commit(("INSERT", "items", None, row(2)))
    run("--exclude", "change_tracking_dbo_late")
    take_out_late(tracking, ITEMS)
    run()
    for number in (3, 4):
        writer.commit(("INSERT", "items", None, row(number)))
        run()
    assert [r.id for r in tracking.asked(ITEMS, 1)] == [2, 3, 4]
    versions = tracking.sql("select commit_ts from {schema}.syscommittab order by 1")
    assert [v[0] for v in versions] == [1, 2, 3, 4, 5]


@pytest.mark.more
@pytest.mark.parametrize("others", [0, 2])
def test_a_table_that_comes_back_beside_an_open_window(
    make_project: Callable[..., Project], others: int
) -> None:
    """The window's versions do not count it. Its clients load it anew once, then see changes."""
    tracking, writer = Tracking(make_project, [ITEMS, LATE]), TrackingWriter(START)
    both = tracked_models([ITEMS, LATE])

    def run(*arguments: str) -> None:
        tracking.land(writer.new())
        tracking.run(*arguments)

    writer.commit(("INSERT", "items", None, row(1)), ("INSERT", "late", None, {"id": 1}))
    run()
    take_out_late(tracking, ITEMS)
    writer.commit(("INSERT", "items", None, row(2)))
    run()
    for number in (2, 3):
        writer.commit(("INSERT", "late", None, {"id": number}))
    for number in range(others):
        writer.commit(("INSERT", "items", None, row(3 + number)))
    run("--exclude", "change_tracking_dbo_items")
    for path, text in both.items():
        tracking.project.write(f"models/{path}", text)
    run()
    begin = tracking.value("change_tracking_min_valid_version('dbo.late')")
    assert begin == tracking.value("change_tracking_current_version()") == 2 + (others or 1)
    writer.commit(("INSERT", "late", None, {"id": 4}))
    run()
    assert [r.id for r in tracking.asked(LATE, begin)] == [4]
    assert [r.id for r in tracking.asked(ITEMS, 2)] == list(range(3, 3 + others))


@pytest.mark.more
def test_a_table_that_comes_back_without_the_scan(make_project: Callable[..., Project]) -> None:
    """The open window is published without it: no client takes it for one that was never away."""
    tracking, writer = Tracking(make_project, [ITEMS, LATE]), TrackingWriter(START)
    both, model = tracked_models([ITEMS, LATE]), "change_tracking_dbo_late"

    def run(*arguments: str) -> None:
        tracking.land(writer.new())
        tracking.run(*arguments)

    writer.commit(("INSERT", "items", None, row(1)), ("INSERT", "late", None, {"id": 1}))
    run()
    take_out_late(tracking, ITEMS)
    writer.commit(("INSERT", "late", None, {"id": 2}))
    run()
    writer.commit(("INSERT", "late", None, {"id": 3}))
    writer.commit(("INSERT", "items", None, row(2)))
    run("--exclude", "change_tracking_dbo_items")
    for path, text in both.items():
        tracking.project.write(f"models/{path}", text)
    run("--select", "change_tracking_dbo_items", model, "lsn_time_mapping")
    assert [(r.id, r.sys_change_version) for r in tracking.asked(ITEMS, 1)] == [(2, 3)]
    with pytest.raises(Exception, match="CDC 22105: nothing is published yet of the changes of"):
        tracking.asked(LATE, 1)
    writer.commit(("INSERT", "late", None, {"id": 4}))
    run()
    with pytest.raises(Exception, match="CDC 313: last_sync_version 3 is below the minimum valid"):
        tracking.asked(LATE, 3)
    assert [(r.id, r.sys_change_version) for r in tracking.asked(LATE, 4)] == [(4, 5)]


@pytest.mark.more
def test_a_table_that_came_beside_an_open_window_is_disabled(
    make_project: Callable[..., Project],
) -> None:
    """The versions that the others have written stay what they are."""
    tracking, writer = Tracking(make_project, [ITEMS]), TrackingWriter(START)
    writer.commit(("INSERT", "items", None, row(1)))
    tracking.land(writer.new())
    tracking.run()
    for number in (2, 3):
        writer.commit(("INSERT", "items", None, row(number)))
    tracking.land(writer.new())
    tracking.run("--exclude", "change_tracking_dbo_items")
    for path, text in tracked_models([ITEMS, LATE]).items():
        tracking.project.write(f"models/{path}", text)
    tracking.run("--exclude", "change_tracking_dbo_late")
    disable = {"source_schema": "dbo", "source_name": "late", "dry_run": False}
    tracking.operation("disable_change_tracking", **disable)
    take_out_late(tracking, ITEMS)
    tracking.run()
    assert [(r.id, r.sys_change_version) for r in tracking.asked(ITEMS, 1)] == [(2, 2), (3, 3)]
    versions = tracking.sql("select commit_ts from {schema}.syscommittab order by 1")
    assert [v[0] for v in versions] == [1, 2, 3]


def test_a_cleanup_while_a_window_is_open(make_project: Callable[..., Project]) -> None:
    """The window's versions go on counting a table that has left the project meanwhile."""
    note = {"a": 1, "b": 1, "x": 1, "y": "y"}
    tracking, writer = Tracking(make_project, [ITEMS, NOTES, LATE]), TrackingWriter(START)

    def run(*arguments: str) -> None:
        tracking.land(writer.new())
        tracking.run(*arguments)

    writer.commit(("INSERT", "items", None, row(1)))
    run()
    take_out_late(tracking, ITEMS, NOTES)
    writer.commit(("INSERT", "items", None, row(2)))
    writer.commit(("INSERT", "late", None, {"id": 1}))
    writer.commit(("INSERT", "items", None, row(3)), ("INSERT", "notes", None, note))
    run("--exclude", "change_tracking_dbo_notes")
    tracking.operation("change_tracking_cleanup")
    run()
    writer.commit(("INSERT", "items", None, row(4)))
    run()
    assert [(r.id, r.sys_change_version) for r in tracking.asked(ITEMS, 1)] == [
        (2, 2), (3, 4), (4, 5),
    ]  # fmt: skip
    assert [r.sys_change_version for r in tracking.asked(NOTES, 1)] == [4]
    with pytest.raises(Exception, match="CDC 22105: nothing is published yet of the changes of"):
        tracking.asked(LATE, 1)


@pytest.mark.more
def test_the_only_table_that_comes_back(make_project: Callable[..., Project]) -> None:
    """It begins anew, as one of several does."""
    tracking, writer = Tracking(make_project, [ITEMS], [CAPTURED]), TrackingWriter(START)

    def run(number: int) -> None:
        writer.commit(("INSERT", "items", None, row(number)))
        tracking.land(writer.new())
        tracking.run()

    run(1)
    for name in ("change_tracking_dbo_items.sql", "tracked.yml"):
        (tracking.project.folder / "models" / name).unlink()
    run(2)
    with pytest.raises(Exception, match="CDC 22105: nothing is published yet of the changes of"):
        tracking.asked(ITEMS, 1)
    for path, text in tracked_models([ITEMS]).items():
        tracking.project.write(f"models/{path}", text)
    run(3)
    run(4)
    with pytest.raises(Exception, match="CDC 313: last_sync_version 0 is below the minimum valid"):
        tracking.asked(ITEMS, 0)
    assert [r.id for r in tracking.asked(ITEMS, None)] == [3, 4]


@pytest.mark.more
@pytest.mark.parametrize("is_first", [True, False])
def test_a_window_that_is_published_without_the_table(
    make_project: Callable[..., Project], is_first: bool
) -> None:
    """What the side table has of it hides no later window, also where clients were never shown
    anything."""
    tracking, writer = Tracking(make_project, [ITEMS], [CAPTURED]), TrackingWriter(START)

    def run(numbers: list[int], *arguments: str) -> None:
        for number in numbers:
            writer.commit(("INSERT", "items", None, row(number)))
        tracking.land(writer.new())
        tracking.run(*arguments)

    if not is_first:
        run([0])
    run([1, 2, 3], "--exclude", "lsn_time_mapping")
    for path in tracked_models([ITEMS]):
        (tracking.project.folder / "models" / path).unlink()
    run([])
    for path, text in tracked_models([ITEMS]).items():
        tracking.project.write(f"models/{path}", text)
    run([4])
    run([5])
    begin = tracking.value("change_tracking_min_valid_version('dbo.items')")
    found = [(r.id, r.sys_change_version) for r in tracking.asked(ITEMS, begin)]
    assert found == [(4, begin + 1), (5, begin + 2)]


@pytest.mark.soak
def test_beside_captured_tables_and_late(make_project: Callable[..., Project]) -> None:
    """One project captures and tracks the same table; another table is tracked later, truncated,
    and its model goes away and comes back."""
    tracking = Tracking(make_project, [ITEMS], [CAPTURED])
    writer, reference = TrackingWriter(START), ChangeTracking([ITEMS])

    def run() -> str:
        tracking.land(writer.new())
        return tracking.run().output

    def write(path: str, text: str) -> None:
        tracking.project.write(f"models/{path}", text)

    writer.commit(("INSERT", "items", None, row(1)))
    writer.commit(("INSERT", "late", None, {"id": 1}))
    writer.commit(("UPDATE", "items", row(1), row(1)))  # changes nothing: captured no, tracked yes
    run()
    reference.follow(writer.records)
    check(tracking, reference)
    assert len(tracking.changes(CAPTURED)) == 1

    files = tracked_models([ITEMS, LATE])
    for path, text in files.items():
        write(path, text)
    writer.commit(("INSERT", "late", None, {"id": 2}))
    writer.commit(("DELETE", "items", row(1)))
    tracking.land(writer.new())
    assert (
        "change_tracking_dbo_late did not capture it"
        in tracking.run("--exclude", "change_tracking_dbo_late").output
    )
    check(tracking, reference)  # nothing of the open window is seen
    with pytest.raises(AssertionError, match="CDC 1222: change tracking of"):
        tracking.operation(
            "disable_change_tracking", source_schema="dbo", source_name="late", dry_run=False
        )
    run()
    both = ChangeTracking([ITEMS, LATE], reference.commits, reference.events, reference.min_valid)
    both.follow(writer.records)
    assert both.min_valid == {"dbo.items": 0, "dbo.late": 2}
    check(tracking, both)
    assert len(tracking.changes(CAPTURED)) == 2

    writer.commit(("INSERT", "late", None, {"id": 3}))
    writer.commit(("TRUNCATE", "late"), ("INSERT", "late", None, {"id": 9}))
    writer.commit(("INSERT", "late", None, {"id": 4}))
    run()
    both.follow(writer.records)
    assert both.min_valid["dbo.late"] == 6
    check(tracking, both)
    with pytest.raises(Exception, match="CDC 313: last_sync_version 5 is below the minimum valid"):
        tracking.asked(LATE, 5)

    take_out_late(tracking, ITEMS)
    writer.commit(("INSERT", "late", None, {"id": 5}))
    writer.commit(("INSERT", "items", None, row(5)))
    run()
    with pytest.raises(Exception, match="CDC 22105: nothing is published yet of the changes of"):
        tracking.asked(LATE, 7)
    for path, text in files.items():
        write(path, text)
    writer.commit(("INSERT", "late", None, {"id": 6}))
    run()
    (begin,) = tracking.sql(
        "select begin_version from {schema}.change_tracking_tables where source_name = 'late'"
    )
    current = tracking.value("change_tracking_current_version()")
    assert begin[0] == current - 1
    assert [r.id for r in tracking.asked(LATE, None)] == [6]
    assert "drop table if exists" in tracking.operation(
        "disable_change_tracking", source_schema="dbo", source_name="late", dry_run=True
    )
    assert len(tracking.asked(LATE, None)) == 1
    tracking.operation("disable_change_tracking", source_schema="dbo", source_name="late")
    assert "change_tracking_dbo_late" not in {
        r.tableName for r in tracking.sql("show tables in {schema}")
    }


@pytest.mark.more
def test_a_bad_record_and_the_scaffold(make_project: Callable[..., Project]) -> None:
    """Mistakes and refusals: tests/rules/test_tracking_models.py."""
    tracking = Tracking(make_project, [ITEMS], vars={"cdc_persistent_functions": False})
    writer = TrackingWriter(START)
    writer.commit(("INSERT", "items", None, {"name": "x"}))
    image = {"key": 5_000_000_000, "name": "ä", "price": 1.5, "ok": True, "none": None}
    writer.commit(("INSERT", "odd", None, image))
    tracking.land(writer.new())
    result = tracking.project.dbt("run")
    assert "CDC 22859: bad log record of table dbo.items, column id, lsn 0x" in result.output
    assert "\tat " not in result.output
    arguments = {"source_schema": "dbo", "source_name": "odd", "primary_key": ["key"]}
    shown = tracking.project.ok(
        "run-operation", "enable_change_tracking", "--args", json.dumps(arguments)
    ).printed
    for line in (
        "-- models/change_tracking_dbo_odd.sql",
        "{{ dbt_cdc.change_tracking_table() }}",
        "          primary_key: [key]",
        "      - {name: key, data_type: bigint}",
        "      - {name: price, data_type: 'decimal(38,18)'}",
        "      - {name: none, data_type: string}  # no value seen",
    ):
        assert line in shown.splitlines()


class Shuffled:
    """Random transactions of two tables, true histories with swaps of keys; and the reference."""

    def __init__(self, make_project: Callable[..., Project], seed: int) -> None:
        self.rng = random.Random(seed)
        self.tracking = Tracking(make_project, [ITEMS, NOTES])
        self.writer, self.reference = TrackingWriter(START), ChangeTracking([ITEMS, NOTES])
        self.rows: dict[str, dict[Any, dict[str, Any]]] = {"items": {}, "notes": {}}

    def new_row(self, table: str) -> tuple[Any, dict[str, Any]]:
        number = self.rng.randrange(6)
        if table == "items":
            return number, {"id": number, "name": self.rng.choice("pqr")}
        key = (number % 3, number // 3)
        x, y = self.rng.randrange(3), self.rng.choice("st")
        return key, {"a": key[1], "b": key[0], "x": x, "y": y}

    def change(self) -> tuple[Any, ...]:
        """One change that the database would allow."""
        table = self.rng.choice(["items", "notes"])
        there = self.rows[table]
        key, new = self.new_row(table)
        context = self.rng.choice([None, None, "0x01", "0x02"])
        if there and self.rng.random() < 0.7:
            old_key = self.rng.choice(sorted(there))
            if self.rng.random() < 0.35:
                return "DELETE", table, there.pop(old_key), None, context
            if old_key == key or key not in there:
                old = there.pop(old_key)
                there[key] = new
                return "UPDATE", table, old, new, context
        if key not in there:
            there[key] = new
            return "INSERT", table, None, new, context
        old, there[key] = (
            there[key],
            {**there[key], **{("name" if table == "items" else "y"): "new"}},
        )
        return "UPDATE", table, old, there[key], context

    def commits(self, count: int) -> None:
        for _ in range(count):
            self.writer.commit(
                *(self.change() for _ in range(self.rng.randrange(1, 5))),
                time=self.writer.time + timedelta(minutes=self.rng.choice([0, 7, 60])),
            )


@pytest.mark.soak
@pytest.mark.parametrize("seed", [1, 2])
def test_any_log_any_baseline_any_cleanup(make_project: Callable[..., Project], seed: int) -> None:
    story = Shuffled(make_project, seed)
    for _ in range(5):
        story.commits(story.rng.randrange(1, 12))
        story.tracking.land(story.writer.new())
        story.tracking.run()
        story.reference.follow(story.writer.records)
        check(story.tracking, story.reference, step=5)
        if story.rng.random() < 0.6:
            minutes = story.rng.choice([30, 120, 400])
            story.tracking.operation("set_change_tracking", change_retention=f"{minutes} minutes")
            story.tracking.operation("change_tracking_cleanup")
            story.reference.clean_up(timedelta(minutes=minutes))
            check(story.tracking, story.reference, step=5)


@pytest.mark.soak
def test_first_runs_that_die_after_every_new_write(make_project: Callable[..., Project]) -> None:
    story = Shuffled(make_project, 7)
    story.commits(3)
    story.tracking.land(story.writer.new())
    done: set[str] = set()
    for _ in range(80):
        with dying_at(lambda sql, done=done: sql not in done) as writes:
            is_complete = story.tracking.project.dbt("run").success
        if set(writes) <= done:
            break
        done |= set(writes)
    assert is_complete
    story.reference.follow(story.writer.records)
    check(story.tracking, story.reference, step=3)
