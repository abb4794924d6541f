"""Cleanup of change tracking (G38), against the reference."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from harness import Project
from reference.change_tracking import ChangeTracking, TrackedTable
from reference.log import UTC
from statements import dying_at
from tracking import Tracking, TrackingWriter, with_masks

pytestmark = [pytest.mark.slow, pytest.mark.more]

ITEMS, NOTES = (
    TrackedTable("dbo", name, (("id", "int"),), ("id",), track_columns_updated=False)
    for name in ("items", "notes")
)
TABLES = [ITEMS, NOTES]
FAILED = (
    "CDC 22123: the rows could not be removed: the next cleanup tries again"
    " (dbt_packages/dbt_cdc/docs/errors.md)"
)
START = datetime(2024, 5, 1, tzinfo=UTC)


class Story:
    """Two tables in turn; `hours` are those of the commits."""

    def __init__(self, make_project: Callable[..., Project]) -> None:
        self.tracking = Tracking(make_project, TABLES)
        self.writer, self.reference = TrackingWriter(START), ChangeTracking(TABLES)

    def run(self, hours: list[float]) -> None:
        for hour in hours:
            number = self.writer.number
            table = ("items", "notes")[number % 2]
            key = {"id": number // 4}
            self.writer.commit(
                ("UPDATE", table, key, key), time=START + timedelta(minutes=round(hour * 60))
            )
        self.tracking.land(self.writer.new())
        self.tracking.run()
        self.reference.follow(self.writer.records)

    def fail(self, operation: str, **arguments: object) -> str:
        result = self.tracking.project.dbt(
            "run-operation", operation, "--args", json.dumps(arguments)
        )
        assert not result.success
        assert "\tat " not in result.output
        return result.output

    def kept(self) -> dict[str, list[int]]:
        """The versions in the side tables."""
        return {
            table.source_name: sorted(
                row[0] for row in self.tracking.sql(
                    f"select sys_change_version from {{schema}}.change_tracking_{table.suffix}"
                )
            )
            for table in TABLES
        }  # fmt: skip

    def commits(self) -> list[int]:
        return sorted(
            r[0] for r in self.tracking.sql("select commit_ts from {schema}.syscommittab")
        )

    def settings(self) -> tuple[int, int]:
        (row,) = self.tracking.sql("select * from {schema}.change_tracking_databases")
        return row.invalid_cleanup_version, row.hardened_cleanup_version

    def check(self) -> None:
        """Readers get what the reference has; what is invalid is an error."""
        for table in TABLES:
            low = self.reference.min_valid[table.table]
            call = f"change_tracking_min_valid_version('{table.table}')"
            assert self.tracking.value(call) == low
            for last_sync in (None, low, (low + self.reference.current_version) // 2):
                assert self.tracking.changes_of(table, last_sync) == with_masks(
                    self.reference.changes(table, last_sync)
                )
            if low:
                text = (
                    f"CDC 313: last_sync_version {low - 1} is below the minimum valid version {low}"
                )
                with pytest.raises(Exception, match=text):
                    self.tracking.asked(table, low - 1)


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    """Ten versions with a tie at the fifth and sixth."""
    story = Story(make_project)
    story.run([0, 1, 2, 3, 5, 5, 6, 7, 8, 9])
    return story


def test_one_table_fails_and_holds_the_hardened_version_back(story: Story) -> None:
    tracking = story.tracking
    shown = tracking.operation(
        "set_change_tracking", change_retention="3 hours", auto_cleanup=False
    )
    assert "HOURS" in shown
    assert "auto cleanup is off" in tracking.operation("change_tracking_cleanup", auto=True)
    assert story.commits() == list(range(1, 11))
    shown = tracking.operation("change_tracking_cleanup", dry_run=True)
    assert "change_tracking_dbo_items  0                  6                      3" in shown
    assert story.kept() == {"items": [1, 3, 5, 7, 9], "notes": [2, 4, 6, 8, 10]}

    property = "'delta.appendOnly'"
    table = "{schema}.change_tracking_dbo_items"
    tracking.sql(f"alter table {table} set tblproperties ({property} = true)")
    shown = story.fail("change_tracking_cleanup")
    assert "1 of 2: change_tracking_dbo_items up to version 6" in shown
    assert "CDC 22123: cleanup of change_tracking_dbo_items failed" in shown
    assert story.kept() == {"items": [1, 3, 5, 7, 9], "notes": [8, 10]}
    assert story.settings() == (6, 0)
    assert story.commits() == list(range(1, 11))
    assert story.reference.clean_up(timedelta(hours=3)) == 6
    story.check()
    (error,) = tracking.sql("select error_number from {schema}.dm_cdc_errors")
    assert error[0] == 22123
    tracking.sql(f"alter table {table} unset tblproperties ({property})")


def test_the_next_cleanup_finishes(story: Story) -> None:
    tracking = story.tracking
    assert "CDC 22850: threshold is 0" in story.fail("change_tracking_cleanup", threshold=0)
    shown = tracking.operation("change_tracking_cleanup", threshold=2)
    assert "change_tracking_dbo_items  6                3" in shown
    assert "cleanup: change_tracking_dbo_items: 2 of 3 rows removed" in shown
    assert "cleanup: syscommittab: 4 of 6 rows removed" in shown
    history = tracking.sql("describe history {schema}.syscommittab")
    assert [row.operation for row in history].count("DELETE") == 3
    assert story.kept() == {"items": [7, 9], "notes": [8, 10]}
    assert story.commits() == [7, 8, 9, 10]
    shown = tracking.sql("select * from {schema}.dm_tran_commit_table")
    rows = tracking.sql("select * from {schema}.syscommittab")
    assert {(r[0], r[1], int(r[2]) << 16 | r[3], r[4]) for r in shown} == {
        (r.commit_ts, r.xdes_id, int(r.commit_lsn, 16), r.commit_time) for r in rows
    }
    assert story.settings() == (6, 6)
    history = tracking.sql(
        "select internal_table_name, table_name, rows_cleaned_up, cleanup_version, comments,"
        " end_time >= start_time from {schema}.mschange_tracking_history order by end_time"
    )
    begin = [
        (None, None, None, 6, step, True)
        for step in (
            "Start", "UpdateRetention: 3 HOURS, commits up to 2024-05-01 05:00:00",
            "UpdateInvalidCleanup",
        )
    ]  # fmt: skip
    assert [tuple(row) for row in history] == [
        *begin,
        ("change_tracking_dbo_items", "dbo.items", 0, 6, FAILED, True),
        ("change_tracking_dbo_notes", "dbo.notes", 3, 6, None, True),
        *begin,
        ("change_tracking_dbo_items", "dbo.items", 3, 6, None, True),
        ("syscommittab", None, 6, 6, None, True),
        ("change_tracking_dbo_notes", "dbo.notes", 0, 6, None, True),
        (None, None, None, 6, "UpdateHardenedCleanup", True),
        (None, None, None, 6, "End", True),
    ]
    story.check()


@pytest.mark.more
def test_g38_what_a_flush_prints(story: Story) -> None:
    tracking = story.tracking
    shown = tracking.operation("flush_ct_internal_table_on_demand", table="dbo.items").splitlines()
    assert shown[-3:] == [
        "Cleanup Watermark = 6",
        "Internal Change Tracking table name : change_tracking_dbo_items",
        "Total rows deleted: 0.",
    ]
    tracking.operation("set_change_tracking", change_retention="90 minutes")
    shown = tracking.operation("flush_ct_internal_table_on_demand", table="DBO_notes").splitlines()
    assert shown[-3:] == [
        "Cleanup Watermark = 8",
        "Internal Change Tracking table name : change_tracking_dbo_notes",
        "Total rows deleted: 1.",
    ]
    assert story.kept() == {"items": [7, 9], "notes": [10]}
    assert story.settings() == (8, 6)
    tracking.operation("change_tracking_cleanup")
    assert story.settings() == (8, 8)
    assert story.commits() == [9, 10]
    story.reference.clean_up(timedelta(minutes=90))
    story.check()
    shown = tracking.operation("flush_commit_table_on_demand", numrows=1).splitlines()
    assert [line.split() for line in shown[-5:-3]] == [
        ["deleted_rows", "date_cleanedup", "cleanup_ts"],
        ["0", "NULL", "NULL"],
    ]
    assert shown[-3:] == [
        "The value returned by change_tracking_hardened_cleanup_version() is 8.",
        "The value returned by safe_cleanup_version() is 8.",
        "Deleted 0 rows from syscommittab.",
    ]


@pytest.mark.more
def test_a_cleanup_that_is_killed_after_a_delete_has_its_row(story: Story) -> None:
    tracking = story.tracking
    tracking.operation("set_change_tracking", change_retention="1 minutes")
    with dying_at(lambda sql: "delete from" in sql and "change_tracking_dbo_items" in sql):
        tracking.project.dbt("run-operation", "change_tracking_cleanup")
    (killed,) = tracking.sql(
        "select * from {schema}.mschange_tracking_history where end_time is null"
    )
    assert killed.internal_table_name == "change_tracking_dbo_items"
    assert (killed.rows_cleaned_up, killed.cleanup_version) == (None, 9)
    assert story.kept() == {"items": [], "notes": [10]}
    tracking.operation("change_tracking_cleanup")
    story.reference.clean_up(timedelta(minutes=1))
    story.check()


@pytest.mark.more
def test_a_flush_removes_what_a_killed_cleanup_has_left(story: Story) -> None:
    tracking = story.tracking
    story.run([10, 11, 12])
    with dying_at(lambda sql: "set hardened_cleanup_version" in sql):
        tracking.project.dbt("run-operation", "change_tracking_cleanup")
    assert story.settings() == (12, 12)
    assert story.commits() == [10, 11, 12, 13]
    for numrows, outputs in (
        (1, ["1", "2024-05-01", "09:00:00", "10"]),
        (100, ["2", "2024-05-01", "11:00:00", "12"]),
    ):
        shown = tracking.operation("flush_commit_table_on_demand", numrows=numrows).splitlines()
        assert [line.split() for line in shown[-5:-3]] == [
            ["deleted_rows", "date_cleanedup", "cleanup_ts"],
            outputs,
        ]
        assert shown[-1] == f"Deleted {outputs[0]} rows from syscommittab."
    assert story.commits() == [13]
    story.reference.clean_up(timedelta(minutes=1))
    story.check()
