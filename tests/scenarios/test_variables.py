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
    """How long cleanup keeps sessions and errors."""
    if not story.windows:
        story.land()
        story.capture.run()
    ages = (1, 3, 5)
    story.capture.sql("insert into {schema}.dm_cdc_errors by name " + " union all ".join(
        f"select {age} as session_id, current_timestamp() - interval '{age}' day as entry_time"
        for age in ages
    ))  # fmt: skip
    kept = "select session_id from {schema}.dm_cdc_errors where session_id < 9 order by 1"
    for days, left in ((4, [1, 3]), (2, [1])):
        story.capture.project.ok("run-operation", "cleanup", vars={"cdc_monitoring_days": days})
        assert [row.session_id for row in story.capture.sql(kept)] == left
    assert story.capture.sql("select * from {schema}.scan_sessions")
    story.check()
