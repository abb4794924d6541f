"""Variables that change how a run works, not what it captures."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from harness import Project
from steps import PLAIN
from story import Story

pytestmark = [pytest.mark.slow, pytest.mark.more]


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    return Story(make_project, vars=PLAIN)


def test_cdc_monitoring_days(story: Story) -> None:
    """How long cleanup keeps sessions and errors, but for those of the last 32 sessions."""
    if not story.windows:
        story.land()
        story.capture.run()
    ages = (1, 3, 5)
    story.capture.sql("insert into {schema}.dm_cdc_errors by name " + " union all ".join(
        f"select {session} as session_id, {age} as error_number,"
        f" current_timestamp() - interval '{age}' day as entry_time"
        for age in ages for session in (0, 7)
    ))  # fmt: skip
    kept = "select error_number from {schema}.dm_cdc_errors where session_id = {session} order by 1"
    for days, left in ((4, [1, 3]), (2, [1])):
        story.capture.project.ok("run-operation", "cleanup", vars={"cdc_monitoring_days": days})
        for session, numbers in ((0, left), (7, [1, 3, 5])):
            rows = story.capture.sql(kept.replace("{session}", str(session)))
            assert [row.error_number for row in rows] == numbers
    assert story.capture.sql("select * from {schema}.scan_sessions")
    story.check()
