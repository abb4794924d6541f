"""A cleanup that dies or fails at any write, and captures beside it: nothing readable is lost."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from harness import Project
from statements import before_write
from steps import CAPTURED, FAULTS, PLAIN, Contents, Steps, Work, ends
from story import Story

pytestmark = pytest.mark.slow


KEPT = {name: columns for name, columns in CAPTURED.items() if name != "scan_transactions"}


class Cleanup(Work):
    """A cleanup that has rows to remove, while a window waits to be captured."""

    def __init__(self, make_project: Callable[..., Project]) -> None:
        story = Story(make_project, vars=PLAIN)
        project = story.capture.project
        story.land(2)
        story.capture.run()
        story.windows = 100  # a hundred seconds later
        story.land()
        story.capture.run()
        arguments = json.dumps({"job_type": "cleanup", "retention": 1})
        project.ok("run-operation", "change_job", "--args", arguments)
        story.land_both()
        self.rows = {f"{i.capture_instance}_ct": story.expected(i) for i in story.capture.instances}
        super().__init__(project, KEPT, "run-operation", "cleanup")

    def marks(self, found: Contents) -> dict[str, Any]:
        return ends(found)

    def check_readers(self, found: Contents) -> None:
        """They find everything at or above the low ends."""
        for interval in found["validity_intervals"]:
            low, high = interval["low_end"], interval["high_end"]
            name = f"{interval['capture_instance']}_ct"
            seen = [r["__$seqval"] for r in found[name] if low <= r["__$start_lsn"] <= high]
            rows = [r.seqval for r in self.rows[name] if low <= r.start_lsn <= high]
            assert sorted(seen) == sorted(rows)


@pytest.fixture(scope="module")
def cleanup(make_project: Callable[..., Project]) -> Cleanup:
    return Cleanup(make_project)


@pytest.mark.more
def test_a_cleanup_that_dies_after_any_write_is_finished_by_the_next(cleanup: Cleanup) -> None:
    assert len(cleanup.steps.writes) >= 5  # low ends, view, two tables, lsn_time_mapping
    cleanup.check_faults("dies")


@pytest.mark.more
def test_each_write_of_a_cleanup_that_fails_or_loses_its_answer(cleanup: Cleanup) -> None:
    cleanup.check_faults("answer is lost", "fails")


@pytest.mark.soak
@pytest.mark.parametrize("kind", FAULTS)
def test_every_write_of_a_cleanup(cleanup: Cleanup, kind: str) -> None:
    cleanup.check_each_fault(kind)


@pytest.mark.soak
def test_every_death_of_a_cleanup(cleanup: Cleanup) -> None:
    cleanup.check_each_death()


@pytest.mark.parametrize("most", [1, pytest.param(99, marks=pytest.mark.soak)])
def test_capture_beside_cleanup(cleanup: Cleanup, most: int) -> None:
    """Each of them does all its writes between two of the other, with what it has read before. The
    next run and the next cleanup leave what a capture and then a cleanup would have left."""
    cleanup.go_to(0)
    capture = Steps(cleanup.project.furnished, lambda: cleanup.project.ok("run"), cleanup.contents)
    cleanup.run()
    end = cleanup.contents()
    for command, its_own, other in (
        (cleanup.command, cleanup.steps, capture),
        (("run",), capture, cleanup.steps),
    ):
        count = len(its_own.writes)
        for number in random.Random(18).sample(range(1, count + 1), min(most, count)):
            cleanup.go_to(0)
            with before_write(number, other.do):
                result = cleanup.project.dbt(*command)
            assert result.success, result.output
            cleanup.check()
            cleanup.project.ok("run")
            cleanup.run()
            assert cleanup.contents() == end, (command, number)
