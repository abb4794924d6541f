"""Captures at the same time: one does the work, nothing is doubled and nothing lost.

The other client is a replay: the writes of a recorded run, moved to the window at hand. It runs
between two statements of a dbt run, where every interleaving can be had, or beside it in a thread.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from harness import DbtResult, Project
from statements import around_statements, is_write, recorded, replay, without_comment
from story import Story, moved

pytestmark = pytest.mark.soak


class Race:
    """A story and another client's statements for any of its windows."""

    def __init__(self, make_project: Callable[..., Project]) -> None:
        self.story = Story(make_project)
        self.session = self.story.capture.project.spark.newSession()
        for _ in range(4):  # the third window has rows of one table only
            self.story.land()
            with recorded() as statements:
                self.story.capture.run()
        self.own = statements
        log_view = f"create or replace view {self.story.capture.schema}.raw_log"
        self.writes = [s for s in statements if is_write(s) and not s.startswith(log_view)]
        self.recorded_window = self.story.windows - 1
        self.story.check()

    def others(self, window: int) -> list[str]:
        """The writes of another client's run that captures a window."""
        return [moved(sql, window - self.recorded_window) for sql in self.writes]

    def run(
        self, pause_at: int | Callable[[str], bool], meanwhile: Callable[[], None]
    ) -> DbtResult:
        """A dbt run; `meanwhile` happens before its statement of that number or kind."""
        numbers: Iterator[int] = iter(range(10_000))
        is_over: list[bool] = []

        def execute(sql: str, go: Callable[[], Any]) -> Any:
            text, number = without_comment(sql), next(numbers)
            is_here = number == pause_at if isinstance(pause_at, int) else pause_at(text)
            if is_here and not is_over:
                is_over.append(True)
                meanwhile()
            return go()

        with around_statements(execute):
            result = self.story.capture.project.dbt("run")
        if not is_over:  # this run had fewer statements
            meanwhile()
        return result

    def interleave(self, pause_at: int | Callable[[str], bool], steps: int, goes_on: bool) -> None:
        """Another client does `steps` of its writes for this window and the next in the middle of
        a run, and `goes_on` afterwards or not."""
        story = self.story
        story.land()
        window = story.windows - 1
        writes = self.others(window) + self.others(window + 1)

        def meanwhile() -> None:
            replay(self.session, writes[:1])
            story.land()
            replay(self.session, writes[1:steps])
            story.check_published_part()

        result = self.run(pause_at, meanwhile)
        assert result.success, result.output
        story.check_published_part()
        for write in writes[steps:] if goes_on else ():
            replay(self.session, [write])
            story.published()
        for _ in range(3):
            done = "nothing to capture" in story.capture.run().output
            story.check_published_part()
            if done:
                break
        story.check()


@pytest.fixture(scope="module")
def race(make_project: Callable[..., Project]) -> Race:
    return Race(make_project)


def test_a_replay_is_a_run(race: Race) -> None:
    """The other client's statements alone capture and publish a window."""
    race.story.land()
    replay(race.session, race.others(race.story.windows - 1))
    race.story.check()


def test_interleaved_at_every_statement(race: Race) -> None:
    seed = int(os.environ.get("DBT_CDC_SEED", "1"))
    for number in range(3, len(race.own)):
        rng = random.Random(seed * 1000 + number)
        steps, goes_on = rng.randint(1, 2 * len(race.writes)), rng.random() < 0.5
        print(f"seed {seed}: before statement {number}, {steps} steps, goes on: {goes_on}")
        race.interleave(number, steps, goes_on)


@pytest.mark.parametrize("clients", [1, 2])
def test_really_at_the_same_time(race: Race, clients: int) -> None:
    story = race.story
    for _ in range(2):
        story.land()
        check_beside(race, [race.others(story.windows - 1)] * clients)


def test_first_runs_at_the_same_time(race: Race) -> None:
    story = race.story
    story.clear()
    story.land()
    with recorded() as statements:
        story.capture.run()
    writes = [sql for sql in statements if is_write(sql)]
    story.clear()
    story.land()
    check_beside(race, [writes])


def check_beside(race: Race, clients: list[list[str]]) -> None:
    """A dbt run beside other clients; then a clean run finds or makes everything in order."""
    story, errors = race.story, []

    def client(writes: list[str]) -> None:
        try:
            replay(story.capture.project.spark.newSession(), writes)
        except Exception as error:
            errors.append(str(error))

    threads = [threading.Thread(target=client, args=(writes,)) for writes in clients]

    def start() -> None:
        for thread in threads:
            thread.start()

    result = race.run(is_write, start)
    for thread in threads:
        thread.join(300)
        assert not thread.is_alive()
    assert "\tat " not in result.output, result.output
    assert result.success or not errors, "both failed: " + "\n".join([result.output, *errors])
    story.check_published_part()
    story.capture.run()
    story.check()
    story.check_published_part()
