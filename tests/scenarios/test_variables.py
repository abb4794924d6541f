"""Variables that change how a run works, not what it captures."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from consuming import CONSUMERS, consumed, expected
from harness import Project
from statements import recorded
from steps import PLAIN
from story import Story

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    """A project without scripts, as Spark before 4.0 wants it."""
    return Story(make_project, vars={**PLAIN, "cdc_sql_scripting": False}, models=CONSUMERS)


def test_plain_statements_without_scripts(story: Story) -> None:
    for _ in range(2):
        story.land_both()
        with recorded() as statements:
            story.capture.run()
        assert not [sql for sql in statements if sql.lower().startswith("begin")]
        story.check()
        for name in (file.removesuffix(".sql") for file in CONSUMERS):
            rows = [row.asDict() for row in story.capture.project.table(name).collect()]
            assert consumed(name, rows) == expected(name, story, story.published()), name


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
