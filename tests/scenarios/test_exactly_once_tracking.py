"""Runs of tracked tables that die or fail at any write: the same bytes in the end."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest
from harness import Project
from reference.change_tracking import TrackedTable
from reference.log import UTC
from steps import FAULTS, PLAIN, Work
from tracking import Tracking, TrackingWriter

pytestmark = pytest.mark.slow


TRACKED = TrackedTable("dbo", "items", (("id", "int"), ("name", "string")), ("id",))
START = datetime(2024, 5, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def tracked(make_project: Callable[..., Project]) -> Work:
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
    return Work(tracking.project, {
        "change_tracking_dbo_items": "*",
        "syscommittab": "*",
        "change_tracking_versions": "*",
        "change_tracking_tables": "*",
        "scan_transactions": "* except (opened_at)",
    }, "run")  # fmt: skip


@pytest.mark.soak
def test_tracked_tables_after_any_death(tracked: Work) -> None:
    tracked.check_deaths()


def test_each_write_that_fails_or_loses_its_answer(tracked: Work) -> None:
    assert tracked.steps.end != tracked.before
    tracked.check_faults(*FAULTS)


@pytest.mark.soak
def test_every_death_of_a_run_that_tracks(tracked: Work) -> None:
    tracked.check_each_death()


@pytest.mark.soak
@pytest.mark.parametrize("kind", FAULTS)
def test_every_write_of_a_run_that_tracks(tracked: Work, kind: str) -> None:
    tracked.check_each_fault(kind)
