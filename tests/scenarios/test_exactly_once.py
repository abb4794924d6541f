"""Whatever stops a run, and whoever runs beside it: the same bytes in the end, nothing twice."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pytest
from harness import Project
from statements import before_write, dying_at, recorded
from steps import CAPTURED, FAULTS, OF_RUNS, PLAIN, Contents, Steps, Work, changed, ends
from story import Story

pytestmark = pytest.mark.slow


class Later(Work):
    """A later run of a small story of two tables."""

    def __init__(self, make_project: Callable[..., Project]) -> None:
        self.story = Story(make_project, vars=PLAIN)
        self.story.land()
        self.story.capture.run()
        self.end = self.story.published()
        self.story.land_both()
        super().__init__(self.story.capture.project, CAPTURED, "run")
        self.story.check()
        self.landed = self.story.windows, list(self.story.records)

    def finish(self) -> None:
        """The schema as the run left it, and the story where it was then."""
        self.steps.finish()
        self.story.windows, self.story.records = self.landed[0], list(self.landed[1])
        self.story.ends = {}

    def marks(self, found: Contents) -> dict[str, Any]:
        return ends(found)

    def check_readers(self, found: Contents) -> None:
        """What is published of each table is what the whole run leaves up to there, and nothing
        else than what it leaves is in them."""
        end = max(interval["high_end"] for interval in found["validity_intervals"])
        assert end >= self.end
        for table in ("dbo_items_ct", "dbo_notes_ct"):
            wanted = [row for row in self.steps.end[table] if row["__$start_lsn"] <= end]
            assert [row for row in found[table] if row["__$start_lsn"] <= end] == wanted
            rows = [row for row in found[table] if row["__$start_lsn"] > end]
            assert rows in ([], self.steps.end[table][len(wanted) :])


@pytest.fixture(scope="module")
def later(make_project: Callable[..., Project]) -> Later:
    return Later(make_project)


def test_at_every_pair_of_writes(later: Later) -> None:
    """A run dies after any of its writes and others do them again; or another run does any number
    of them meanwhile. What is done is done: a write changes nothing once a run has come further
    than it. So in any order of the writes of any number of runs, each state is one of those that
    one run goes through."""
    assert len(later.steps.writes) >= 6
    later.check_deaths()


def test_each_write_of_a_run_that_fails_or_loses_its_answer(later: Later) -> None:
    later.check_faults(*FAULTS)


@pytest.mark.soak
def test_every_death_of_a_run(later: Later) -> None:
    others = later.check_each_death()
    later.steps.finish()
    saved = later.project.furnished.save()
    for sql in others:  # late writes of runs that began where another one had died
        later.steps.spark.sql(sql)
    assert changed(later.project.furnished, saved) <= OF_RUNS


@pytest.mark.soak
@pytest.mark.parametrize("kind", FAULTS)
def test_every_write_of_a_run(later: Later, kind: str) -> None:
    later.check_each_fault(kind)


@pytest.mark.soak
def test_overtaken_between_two_writes(later: Later) -> None:
    """Another run does a part of its writes, or all, between two of a real one; then the rest."""
    steps, rng = later.steps, random.Random(18)
    count = len(steps.writes)
    for number in range(2, count):
        part = rng.choice([count, rng.randint(1, count)])
        later.go_to(0)
        with before_write(number, partial(steps.do, 0, part)):
            result = later.project.dbt("run")
        assert result.success, result.output
        later.check()
        steps.do(part)
        assert later.contents() == steps.end, (number, part)


@pytest.mark.more
@pytest.mark.parametrize("times", [1, pytest.param(5, marks=pytest.mark.soak)])
def test_really_at_the_same_time(later: Later, times: int) -> None:
    """One of them may fail where Delta finds a conflict, in one line; the next run is right."""
    steps = later.steps
    for _ in range(times):
        later.go_to(0)
        errors: list[str] = []
        thread = threading.Thread(target=replay, args=(steps, errors))
        thread.start()
        result = later.project.dbt("run")
        thread.join(300)
        assert not thread.is_alive()
        assert result.success or not errors, "\n".join([result.output, *errors])
        assert "\tat " not in result.output
        later.check()
        later.run()
        assert later.contents() == steps.end


def replay(steps: Steps, errors: list[str]) -> None:
    """What another client sends."""
    session = steps.spark.newSession()
    try:
        for write in steps.writes:
            session.sql(write)
    except Exception as error:
        errors.append(str(error))


@pytest.mark.soak
def test_overtaken_by_the_next_window(later: Later) -> None:
    """A run that wakes up while, or after, others have captured the next window."""
    later.finish()
    later.story.land_both()
    following = Steps(later.project.furnished, later.run, later.contents)
    count = len(following.writes)
    for number in (1, count // 2, count):
        following.go_to(number)
        assert later.steps.repeat(len(later.steps.writes)) == set(), number
    assert later.contents() == following.end
    later.story.check()


@pytest.mark.soak
def test_first_runs_that_die_after_every_write(make_project: Callable[..., Project]) -> None:
    """Each run dies after the first write that no run before it has done."""
    story, done = Story(make_project, vars=PLAIN, fresh=True), set[str]()
    story.land()
    for _ in range(80):
        with dying_at(lambda sql, done=done: sql not in done, in_scripts=True) as writes:
            is_complete = story.capture.project.dbt("run").success
        story.published()
        if set(writes) <= done:
            break
        assert not is_complete
        done |= set(writes)
    assert is_complete
    assert len(done) >= 12
    story.check()


def first_attempts(statements: Iterable[str]) -> list[str]:
    """The appends to change tables without what follows where they fail, which has its guard."""
    appends = [sql for sql in statements if "insert into" in sql and "_ct\n" in sql]
    return [sql.split("end;", 1)[1] for sql in appends]


@pytest.mark.more
def test_a_single_writer_after_any_death(later: Later, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who alone can write leaves out guards, but only where nothing can be there already."""
    monkeypatch.setenv("DBT_CDC_SINGLE_WRITER", "true")
    later.finish()
    later.story.land_both()
    alone = Steps(later.project.furnished, later.run, later.contents)
    appends = first_attempts(alone.writes)
    assert len(appends) == 2
    assert not any("not exists" in sql for sql in appends)
    (opened,) = [n for n, sql in enumerate(alone.writes, 1) if "opened_at" in sql]
    for number in (opened + 1,):
        alone.go_to(number)
        with recorded() as statements:
            later.run()
        assert later.contents() == alone.end, f"died after write {number}"
        appends = first_attempts(statements)
        assert appends
        assert all("not exists" in sql for sql in appends)
    later.story.check()
