"""With several threads: the same story, and nobody in the way of the others."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from consuming import CONSUMERS, consumed, expected
from harness import IS_ALL, Project
from reference.log import int_to_lsn
from statements import dying_at
from steps import PLAIN
from story import NOTES, Story

pytestmark = pytest.mark.slow

MODELS = {"now.sql": CONSUMERS["now.sql"]}
COPIES = {f"copy_{number}.sql": CONSUMERS["now.sql"] for number in range(2)}
CHANGES = (
    "select * from {{ dbt_cdc.get_all_changes("
    "'dbo_notes', dbt_cdc.get_min_lsn('dbo_notes'), dbt_cdc.get_max_lsn()) }}"
)


def check(story: Story) -> None:
    """All is captured, published and consumed."""
    story.check()
    rows = [row.asDict() for row in story.capture.project.table("now").collect()]
    assert consumed("now", rows) == expected("now", story, story.published())


@pytest.mark.more
@pytest.mark.parametrize("threads", [2, 8])
def test_a_first_run(make_project: Callable[..., Project], threads: int) -> None:
    """In a project that has installed the package, and nothing else; a query of an instance whose
    table is done before the others are waits for the publication."""
    models = {**MODELS, "changes.sql": CHANGES}
    story = Story(make_project, vars=PLAIN, models=models, threads=threads, fresh=True)
    story.land(2)
    story.capture.run()
    check(story)
    assert story.capture.project.table("changes").count() == len(story.expected(NOTES))


@pytest.mark.more
def test_consumers_beside_each_other(make_project: Callable[..., Project]) -> None:
    """None of them fails because others move their bookmarks."""
    models = {**CONSUMERS, **COPIES}
    story = Story(make_project, vars=PLAIN, models=models, threads=4)
    for _ in range(2):
        story.land_both()
        story.capture.run()
        story.check()
    for name in (file.removesuffix(".sql") for file in models):
        rows = [row.asDict() for row in story.capture.project.table(name).collect()]
        kind = "now" if name.startswith("copy") else name
        assert consumed(kind, rows) == expected(kind, story, story.published()), name


@pytest.mark.more
def test_a_first_run_that_died_while_it_made_tables(make_project: Callable[..., Project]) -> None:
    """The scan as a task makes all of them in one script; then `--empty`, then a run."""
    story = Story(make_project, vars=PLAIN, models=MODELS, threads=4, fresh=True)
    story.land()

    def is_middle(sql: str) -> bool:
        return sql.count("create table if not exists") in range(9, 19)

    with dying_at(is_middle, in_scripts=True) as writes:
        assert not story.capture.project.dbt(
            "run", "--select", "raw_log", "scan_transactions"
        ).success
    assert any(map(is_middle, writes))
    story.capture.run("--empty")
    assert story.published() == int_to_lsn(0)
    story.capture.run()
    check(story)


def test_a_story(make_project: Callable[..., Project]) -> None:
    """Window by window."""
    story = Story(make_project, vars=PLAIN, models=MODELS, threads=4)
    for _ in range(4 if IS_ALL else 2):
        story.land_both()
        story.capture.run()
        check(story)
