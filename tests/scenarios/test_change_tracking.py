"""SQL Server's own samples of change tracking (golden cases G33 to G37 and G39), and 8.3 to 8.7."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from asking import rows, values
from harness import Project
from reference.change_tracking import ChangeTracking, TrackedTable
from reference.log import UTC
from tracking import Tracking, TrackingWriter, as_tuples, with_masks

pytestmark = pytest.mark.slow

ITEMS = TrackedTable("dbo", "Items", (("id", "int"), ("name", "string"), ("size", "int")), ("id",))
WIDE = TrackedTable("dbo", "wide", tuple((f"c{n}", "int") for n in range(1, 71)), ("c1",))
EMPLOYEES = TrackedTable(
    "dbo", "employees", (("Emp ID", "int"), ("ssn", "varchar(11)"), ("name", "string")),
    ("Emp ID", "ssn"), track_columns_updated=False,
)  # fmt: skip
TABLES = [ITEMS, WIDE, EMPLOYEES]
START = datetime(2024, 5, 1, tzinfo=UTC)


def item(key: int, name: str = "a", size: int = 1) -> dict[str, Any]:
    return {"id": key, "name": name, "size": size}


def wide(key: int, **others: int) -> dict[str, Any]:
    return {f"c{n}": 0 for n in range(1, 71)} | {"c1": key} | others


def employee(key: int, ssn: str, name: str = "n") -> dict[str, Any]:
    return {"Emp ID": key, "ssn": ssn, "name": name}


class Story:
    """A project and the reference, fed with the same log."""

    def __init__(self, make_project: Callable[..., Project]) -> None:
        self.tracking = Tracking(make_project, TABLES)
        self.writer, self.reference = TrackingWriter(START), ChangeTracking(TABLES)

    def run(self) -> None:
        self.tracking.land(self.writer.new())
        self.tracking.run()
        self.reference.follow(self.writer.records)

    def check(self) -> None:
        """What is published is what the reference has, from every baseline."""
        current = self.reference.current_version
        assert self.tracking.value("change_tracking_current_version()") == current
        for table, step in ((ITEMS, 2), (WIDE, 4), (EMPLOYEES, 4)):
            for last_sync in [None, *range(0, current + 1, step)]:
                assert self.tracking.changes_of(table, last_sync) == with_masks(
                    self.reference.changes(table, last_sync)
                ), (table.table, last_sync)


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    """Fifteen versions: G34 in the first two, G33 at 10 and 15, G35 and G36 in between."""
    story = Story(make_project)
    commit = story.writer.commit
    commit(("INSERT", "elsewhere", None, {"id": 1}))
    story.run()
    assert values(story.tracking, ["change_tracking_current_version()"]) == [0]  # G34
    commit(("INSERT", "Items", None, item(1)), ("INSERT", "Items", None, item(2)))
    commit(("UPDATE", "Items", item(1), item(1, "b")))
    story.run()
    assert values(story.tracking, ["change_tracking_current_version()"]) == [2]
    commit(("INSERT", "wide", None, wide(7)), ("INSERT", "wide", None, wide(8)))
    commit(("UPDATE", "wide", wide(7), wide(7, c11=1)))
    commit(("DELETE", "Items", item(2)), ("INSERT", "employees", None, employee(1, "x")))
    commit(("INSERT", "Items", None, item(2)))
    commit(("UPDATE", "wide", wide(8), wide(8, c70=1, c3=1)))
    commit(("UPDATE", "Items", item(1, "b"), item(1, "c", 2)))  # all columns at once
    commit(("UPDATE", "employees", employee(1, "x"), employee(2, "x")))
    commit(("INSERT", "Items", None, item(10)), ("INSERT", "Items", None, item(12)))  # version 10
    commit(
        ("INSERT", "Items", None, item(11)),
        ("DELETE", "Items", item(11)),
        ("DELETE", "Items", item(12)),
    )
    commit(
        ("DELETE", "Items", item(2)),
        ("INSERT", "Items", None, item(2)),
        ("DELETE", "Items", item(2)),
    )
    commit(
        ("INSERT", "employees", None, employee(3, "y", "first"), "0x0A"),
        ("INSERT", "Items", None, item(12)),
    )
    commit(("UPDATE", "employees", employee(3, "y"), employee(3, "y", "z"), "0x0B"))
    commit(("UPDATE", "Items", item(10), item(10, "z")))  # version 15
    story.run()
    return story


def test_every_baseline_is_as_the_reference(story: Story) -> None:
    story.check()
    commits = story.tracking.sql("select * from {schema}.syscommittab order by commit_ts")
    assert [(r.commit_ts, r.xdes_id, r.commit_lsn) for r in commits] == [
        (c.version, c.tran_id, c.lsn) for c in story.reference.commits
    ]


def test_g33_baselines(story: Story) -> None:
    found = {}
    for last_sync, answer in zip(
        (12, 8, 15),
        rows(story.tracking, [f"changetable_changes('dbo.Items', {n})" for n in (12, 8, 15)]),
        strict=True,
    ):
        found[last_sync] = [row.sys_change_operation for row in answer if row.id == 10]
    assert found == {12: ["U"], 8: ["I"], 15: []}


def test_files_are_skipped_by_version(story: Story) -> None:
    """The bounds are literals when Spark reads the side table."""
    call = "changetable_changes_dbo_items(3)"
    (plan,) = story.tracking.sql(f"explain select * from {{schema}}.{call}")
    assert "GreaterThan(sys_change_version,3)" in plan[0]
    assert "<= 15)" in plan[0]
    assert "Subquery" not in plan[0]


def test_g35_masks(story: Story) -> None:
    (row,) = (r for r in story.tracking.asked(WIDE, 3) if r.c1 == 7)
    assert row.sys_change_columns == "0x000000000B000000"
    call = "change_tracking_is_column_in_mask"
    mask = row.sys_change_columns
    assert [story.tracking.value(f"{call}({n}, '{mask}')") for n in (11, 10, 256)] == [
        True, False, False,
    ]  # fmt: skip
    assert story.tracking.value(f"{call}(10, null)")
    (row,) = (r for r in story.tracking.asked(WIDE, 6) if r.c1 == 8)
    assert row.sys_change_columns == "0x000000000300000046000000"
    assert values(story.tracking, ["change_tracking_column_id('dbo.wide', 'c70')"]) == [70]
    for table in ("dbo.wide", "DBO_wide"):
        assert story.tracking.value(f"change_tracking_column_id('{table}', 'C70')") == 70
        assert story.tracking.value(f"change_tracking_min_valid_version('{table}')") == 0


def test_g36_delete_then_insert_is_an_update_of_all_columns(story: Story) -> None:
    (row,) = (r for r in story.tracking.asked(ITEMS, 10) if r.id == 12)
    assert tuple(row) == (13, 13, "U", None, None, 12)


def test_g37_a_version_of_a_database_that_was_restored(story: Story) -> None:
    with pytest.raises(
        Exception, match="CDC 313: last_sync_version 100 is above the current version 15"
    ):
        story.tracking.asked(ITEMS, 100)
    assert story.tracking.asked(ITEMS, 100, allow_stale=True) == []
    call = "lateral {schema}.changetable_changes_dbo_items(v) where id = 1"
    with pytest.raises(Exception, match="CDC 313: last_sync_version 100 is above"):
        story.tracking.sql(f"select * from (select 100L as v) as b, {call}")


def test_g39_versions_of_keys(story: Story) -> None:
    tracking = story.tracking
    tracking.sql(
        "create or replace temp view people as select * from values"
        " (2, 'x'), (3, 'y'), (9, 'q'), (1, 'x') as p (id, ssn)"
    )
    found = tracking.sql(
        "select p.id, v.* from people as p,"
        " lateral {schema}.changetable_version_dbo_employees(p.id, p.ssn) as v order by p.id"
    )
    assert [tuple(row) for row in found] == [
        (2, 9, None, 2, "x"), (3, 14, "0x0B", 3, "y"), (9, None, None, 9, "q"),
    ]  # fmt: skip
    calls = ["{'ssn': 'y', 'Emp ID': 3}", "[9, 'q']", "[1, 'x']"]
    answers = rows(tracking, [f"changetable_version('dbo.employees', {keys})" for keys in calls])
    assert [[tuple(row) for row in answer] for answer in answers] == [
        [(14, "0x0B", 3, "y")], [(None, None, 9, "q")], [],
    ]  # fmt: skip
    with pytest.raises(Exception, match=r"'2\.5' is no value for key column Emp ID of table"):
        rows(tracking, ["changetable_version('dbo.employees', [2.5, 'x'])"])
    assert as_tuples(tracking.asked(EMPLOYEES, 12), EMPLOYEES) == [
        (14, 13, "I", None, "0x0B", (3, "y"))
    ]
