"""Replicas, histories and feeds that die or fail at any write: each change once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from harness import Project
from statements import is_write, node_of, recorded
from steps import FAULTS, PLAIN, Contents, Work
from story import Story

pytestmark = pytest.mark.slow


CONSUMERS = {
    "now.sql": "{{ config(materialized='replica') }}"
    " select * from {{ dbt_cdc.new_changes('dbo_items') }}",
    "then.sql": "{{ config(materialized='history') }}"
    " select * from {{ dbt_cdc.new_changes('dbo_items') }}",
    "feed.sql": "{{ config(materialized='incremental', incremental_strategy='append',"
    " file_format='delta') }} select * from {{ dbt_cdc.new_changes('dbo_items') }}",
}
CONSUMED = {
    "now": "*",
    "then": "*",
    "feed": "*",
    "consumer_bookmarks": "consumer, capture_instance, mode, last_lsn, last_time, open_lsn",
}


class Consumers(Work):
    """A replica, a history and an incremental model before changes that they have not read."""

    independent = True

    def __init__(self, make_project: Callable[..., Project]) -> None:
        story = Story(make_project, vars=PLAIN, models=CONSUMERS)
        project = story.capture.project
        story.land(2)
        story.capture.run()
        story.land(2)
        names = [name.removesuffix(".sql") for name in CONSUMERS]
        story.capture.run("--exclude", *names)
        with recorded(with_comments=True) as statements:
            super().__init__(project, CONSUMED, "run", "--select", *names)
        writes = [sql for sql in statements if is_write(sql)]
        self.nodes = [node_of(sql) for sql in writes]
        assert set(self.nodes) == {f"model.{project.name}.{name}" for name in names}
        self.most = max(map(self.nodes.count, self.nodes))

    def go_to_each(self, number: int) -> Contents:
        """After so many writes of each consumer: they have nothing to do with each other."""
        self.steps.go_to(0)
        for node in sorted(set(self.nodes)):
            own = [w for w, n in zip(self.steps.writes, self.nodes, strict=True) if n == node]
            for write in own[:number]:
                self.steps.spark.sql(write)
        return self.contents()


@pytest.fixture(scope="module")
def consumers(make_project: Callable[..., Project]) -> Consumers:
    return Consumers(make_project)


def test_consumers_that_die_after_any_write(consumers: Consumers) -> None:
    assert consumers.steps.end != consumers.before
    consumers.check_faults("dies")


def test_each_write_of_consumers_that_fails_or_loses_its_answer(consumers: Consumers) -> None:
    consumers.check_faults("answer is lost", "fails")


@pytest.mark.soak
def test_every_death_of_consumers(consumers: Consumers) -> None:
    for number in range(consumers.most):
        consumers.go_to_each(number)
        consumers.run()
        assert consumers.contents() == consumers.steps.end, f"died after write {number}"


@pytest.mark.soak
@pytest.mark.parametrize("kind", FAULTS)
def test_every_write_of_consumers(consumers: Consumers, kind: str) -> None:
    consumers.check_faults(kind)
