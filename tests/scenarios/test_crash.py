"""Runs that die, fail or do only a part: the next ones finish the same window."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from harness import Project
from reference.log import LogRecord, int_to_lsn
from statements import dying_at
from story import Story

pytestmark = pytest.mark.slow

TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    """One project whose log grows from test to test."""
    return Story(make_project)


@pytest.fixture(scope="module")
def new_story(make_project: Callable[..., Project]) -> Story:
    """A project without any table of its own."""
    return Story(make_project, fresh=True)


def begun(story: Story) -> str:
    """Up to where a story is published that has had its first run."""
    if not story.records:
        story.land()
        story.capture.run()
    return story.published()


def broken_note(story: Story) -> LogRecord:
    """The last record of notes, whose image in the log is no JSON any more."""
    note = next(r for r in reversed(story.records) if r.source_name == "notes")
    story.capture.amend(note.lsn, after_image='{"text"')
    return note


@pytest.mark.soak
def test_runs_that_die_after_every_new_write_get_there_in_the_end(new_story: Story) -> None:
    story = new_story
    story.land()
    done: set[str] = set()
    for _ in range(60):
        with dying_at(lambda sql, done=done: sql not in done) as writes:
            is_complete = story.capture.project.dbt("run").success
        story.check_published_part()
        if set(writes) <= done:
            break
        assert not is_complete
        done |= set(writes)
    assert is_complete
    story.check()
    functions = {
        row.function.split(".")[-1] for row in story.capture.sql("show user functions in {schema}")
    }
    assert {"fn_cdc_get_max_lsn", "fn_cdc_get_net_changes_dbo_items"} <= functions
    story.check_published_part()


@pytest.mark.soak
@pytest.mark.parametrize("kills", [1, 2])
def test_kill_9(tmp_path: Path, kills: int) -> None:
    """A process on its own warehouse is killed, in the middle of a statement, and started again."""
    rng = random.Random(os.environ.get("DBT_CDC_SEED", "9"))
    for kill_at in [rng.randrange(12, 40) for _ in range(kills)] + [None]:
        process = subprocess.Popen(
            [sys.executable, str(TESTS / "killed_run.py"), str(tmp_path), str(kills)],
            stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        assert process.stdout
        statements = 0
        last = ""
        for line in process.stdout:
            last = line.strip() or last
            statements += last == "statement"
            if statements == kill_at:
                os.killpg(process.pid, signal.SIGKILL)  # Python and its JVM
                break
        process.stdout.close()
        assert process.wait(400) == (0 if kill_at is None else -signal.SIGKILL)
    assert last == "as expected"


@pytest.mark.soak
def test_a_bad_record_keeps_the_window_open(story: Story) -> None:
    story.clear()
    story.land()
    story.capture.run()
    before = story.published()
    story.land()
    note = broken_note(story)
    result = story.capture.project.dbt("run")
    assert not result.success
    assert result.messages["dbo_items_ct"].status == "success"
    assert "CDC 22859" in result.messages["dbo_notes_ct"].message
    for text in ("dbo.notes", note.lsn):
        assert text in result.messages["dbo_notes_ct"].message
    assert "\tat " not in result.output
    assert story.published() == before
    story.check_published_part()
    window = story.capture.sql("select max(window_to_lsn) as lsn from {schema}.scan_transactions")
    story.capture.amend(note.lsn, after_image=note.after_image)
    first = list(story.records)
    story.land()
    story.capture.run()
    assert story.published() == window[0].lsn == first[-1].lsn
    story.check_published_part()
    story.capture.run()
    story.check()


@pytest.mark.more
def test_each_table_as_a_task_of_its_own(story: Story) -> None:
    before = begun(story)
    story.land_both()
    for _ in range(2):
        story.capture.run("--select", "+dbo_notes_ct")
        assert story.published() == before
        story.check_published_part()
    story.capture.run("--select", "dbo_items_ct")
    story.capture.run("--select", "lsn_time_mapping")
    story.check()


@pytest.mark.soak
def test_a_task_before_anything_else_exists(new_story: Story) -> None:
    story = new_story
    story.clear()
    story.land()
    story.capture.sql("create view {schema}.raw_log as select * from {schema}.landed")
    story.capture.run("--select", "scan_transactions", "dbo_notes_ct")
    assert story.published() == int_to_lsn(0)
    story.capture.run("--select", "dbo_items_ct", "lsn_time_mapping")
    story.check()
    story.check_published_part()


@pytest.mark.soak
def test_commands_that_capture_nothing(new_story: Story) -> None:
    """On an empty schema, and again where there is something to capture."""
    story = new_story
    story.clear()
    story.land()
    for command in (["parse"], ["compile"], ["test"], ["ls"], ["docs", "generate"]):
        story.capture.project.dbt(*command)
        assert story.tables() <= {"landed"}, command
    story.capture.run("--select", "raw_log")
    assert story.tables() == {"landed", "raw_log"}
    story.capture.run("--empty")
    assert "validity_intervals" not in story.tables()
    assert not story.capture.sql("select * from {schema}.scan_transactions")
    story.capture.run()
    story.check()
    story.land()
    contents, state = (
        story.contents(),
        story.capture.sql("select * from {schema}.scan_transactions"),
    )
    for command in (["compile"], ["test"], ["run", "--empty"], ["run", "--select", "raw_log"]):
        story.capture.project.ok(*command)
        assert story.contents() == contents, command
        assert story.capture.sql("select * from {schema}.scan_transactions") == state, command
    story.capture.project.ok("build")
    story.check()


def test_retry_after_a_failed_table(story: Story) -> None:
    """`dbt retry` does what failed, and publishes with what had been captured."""
    before = begun(story)
    story.land_both()
    note = broken_note(story)
    failed = story.capture.project.dbt("run", "--write-json")
    assert {n for n, r in failed.messages.items() if r.status == "error"} == {"dbo_notes_ct"}
    assert failed.messages["lsn_time_mapping"].status == "skipped"
    assert story.published() == before
    story.capture.amend(note.lsn, after_image=note.after_image)
    retried = story.capture.project.ok("retry")
    assert "dbo_notes_ct" in retried.messages
    assert "dbo_items_ct" not in retried.messages
    story.check()


def test_full_refresh_destroys_nothing(story: Story) -> None:
    begun(story)
    story.land()
    story.capture.run("--full-refresh")
    story.check()
    story.check_published_part()
