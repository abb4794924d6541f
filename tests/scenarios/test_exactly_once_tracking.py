"""Runs of tracked tables that die or fail at any write: the same bytes in the end."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from harness import Project
from reference.change_tracking import TrackedTable
from reference.log import UTC
from steps import FAULTS, PLAIN, Contents, Work
from tracking import Tracking, TrackingWriter

pytestmark = pytest.mark.slow


TRACKED = TrackedTable("dbo", "items", (("id", "int"), ("name", "string")), ("id",))
START = datetime(2024, 5, 1, tzinfo=UTC)


VERSIONS = {
    "change_tracking_dbo_items": "*",
    "syscommittab": "*",
    "change_tracking_versions": "*",
    "change_tracking_tables": "*",
    "change_tracking_databases": "*",
}


class Tracked(Work):
    """A command of a project with one tracked table, whose side table has at some time had
    `every` version."""

    def __init__(
        self, tracking: Tracking, every: list[int], tables: dict[str, str], *command: str
    ) -> None:
        self.every = every
        super().__init__(tracking.project, tables, *command)

    def marks(self, found: Contents) -> dict[str, Any]:
        (versions,), (settings,) = (
            found["change_tracking_versions"],
            found["change_tracking_databases"],
        )
        return {
            "the minimum valid version": versions["min_valid_versions"]["dbo.items"],
            **{name: versions[name] for name in ("current_version", "scanned_lsn")},
            **{f"{which}_cleanup_version": settings[f"{which}_cleanup_version"]
               for which in ("invalid", "hardened")},
        }  # fmt: skip

    def check_readers(self, found: Contents) -> None:
        """All that is valid is there, once, with its commit; and nothing that was never tracked."""
        (versions,) = found["change_tracking_versions"]
        low, high = versions["min_valid_versions"]["dbo.items"], versions["current_version"]
        rows = [row["sys_change_version"] for row in found["change_tracking_dbo_items"]]
        valid = [version for version in self.every if low < version <= high]
        assert sorted(version for version in rows if low < version <= high) == valid
        commits = sorted(row["commit_ts"] for row in found["syscommittab"])
        assert len(set(commits)) == len(commits)
        assert set(valid) <= set(commits)
        assert set(rows) <= set(self.every)


@pytest.fixture(scope="module")
def tracked(make_project: Callable[..., Project]) -> Tracked:
    """A later run of a project with one tracked table."""
    tracking = Tracking(make_project, [TRACKED], vars=PLAIN)
    writer = TrackingWriter(START)
    old, new = {"id": 1, "name": "old"}, {"id": 1, "name": "new"}
    writer.commit(("INSERT", "items", None, old))
    tracking.land(writer.new())
    tracking.run()
    writer.commit(("UPDATE", "items", old, new), ("INSERT", "items", None, {**old, "id": 2}))
    writer.commit(("DELETE", "items", new, None))
    tracking.land(writer.new())
    tables = {**VERSIONS, "scan_transactions": "* except (opened_at)"}
    return Tracked(tracking, [1, 2, 2, 3], tables, "run")


@pytest.fixture(scope="module")
def cleanup(make_project: Callable[..., Project]) -> Tracked:
    """A cleanup of one tracked table that has rows to remove."""
    tracking = Tracking(make_project, [TRACKED], vars=PLAIN)
    writer = TrackingWriter(START)
    for hour in range(6):
        row = {"id": hour, "name": "x"}
        writer.commit(("INSERT", "items", None, row), time=START + timedelta(hours=hour))
    tracking.land(writer.new())
    tracking.run()
    tracking.operation("set_change_tracking", change_retention="2 hours")
    return Tracked(
        tracking, list(range(1, 7)), VERSIONS, "run-operation", "change_tracking_cleanup"
    )


@pytest.mark.soak
def test_tracked_tables_after_any_death(tracked: Tracked) -> None:
    tracked.check_deaths()


@pytest.mark.more
def test_each_write_that_fails_or_loses_its_answer(tracked: Tracked) -> None:
    assert tracked.steps.end != tracked.before
    tracked.check_faults(*FAULTS)


@pytest.mark.soak
def test_every_death_of_a_run_that_tracks(tracked: Tracked) -> None:
    tracked.check_each_death()


@pytest.mark.soak
@pytest.mark.parametrize("kind", FAULTS)
def test_every_write_of_a_run_that_tracks(tracked: Tracked, kind: str) -> None:
    tracked.check_each_fault(kind)


@pytest.mark.more
def test_a_cleanup_that_dies_after_any_write(cleanup: Tracked) -> None:
    """Readers of what it makes invalid get an error before any row goes."""
    assert len(cleanup.steps.end["change_tracking_dbo_items"]) == 3
    assert len(cleanup.steps.writes) >= 6
    cleanup.check_faults("dies")


@pytest.mark.soak
@pytest.mark.parametrize("kind", FAULTS)
def test_every_write_of_a_cleanup_of_versions(cleanup: Tracked, kind: str) -> None:
    cleanup.check_each_fault(kind)
