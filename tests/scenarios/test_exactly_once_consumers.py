"""Replicas, histories and feeds that die or fail at any write: each change once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from consuming import CONSUMERS, consumed, expected
from harness import Project
from statements import fault_at, is_write, node_of, points, recorded
from steps import FAULTS, PLAIN, Contents, Work
from story import Story

pytestmark = pytest.mark.slow


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
        self.story = Story(make_project, vars=PLAIN, models=CONSUMERS)
        project = self.story.capture.project
        self.story.land(2)
        self.story.capture.run()
        old = self.story.published()
        self.story.land(2)
        names = [name.removesuffix(".sql") for name in CONSUMERS]
        self.story.capture.run("--exclude", *names)
        self.lsns = old, self.story.published()
        with recorded(with_comments=True) as statements:
            super().__init__(project, CONSUMED, "run", "--select", *names)
        writes = [sql for sql in statements if is_write(sql)]
        self.nodes = [node_of(sql) for sql in writes]
        *models, end = self.nodes  # the end of the run moves the bookmarks of all at once
        assert (set(models), end) == ({f"model.{project.name}.{name}" for name in names}, "")
        self.at = [{name: expected(name, self.story, lsn) for name in names} for lsn in self.lsns]

    def marks(self, found: Contents) -> dict[str, Any]:
        marks = {f"the bookmark of {r['consumer']}": r["last_lsn"] for r in bookmarks(found)}
        return marks | {f"the rows of {name}": self.place(name, found) for name in self.at[0]}

    def place(self, name: str, found: Contents) -> int:
        """A consumer is at the LSN before or at the one that is published, whole and nothing twice:
        which of the two."""
        rows, known = consumed(name, found[name]), [at[name] for at in self.at]
        assert rows in known, f"{name} is at none of its LSNs: {rows}"
        return known.index(rows)

    def check_readers(self, found: Contents) -> None:
        """A bookmark that moves before the rows would lose them; where it has not moved with them,
        it says where they end."""
        assert sorted(r["consumer"] for r in bookmarks(found)) == sorted(self.at[0])
        for bookmark in bookmarks(found):
            lsn = self.lsns[self.place(bookmark["consumer"], found)]
            assert bookmark["last_lsn"] <= lsn, bookmark
            assert lsn in (bookmark["last_lsn"], bookmark["open_lsn"]), bookmark

    def deaths_of_each(self) -> Iterator[list[str]]:
        """What each consumer can have done when a client dies: they have nothing to do with each
        other. One that has less to do is done."""
        ways = []
        for node in sorted({*self.nodes} - {""}):
            own = [w for w, n in zip(self.steps.writes, self.nodes, strict=True) if n == node]
            ways.append([
                [*own[:number], point]
                for number, write in enumerate(own)
                for point in points(write, in_scripts=True)
            ])  # fmt: skip
        for way in itertools.zip_longest(*ways, fillvalue=[]):
            yield list(itertools.chain(*way))


def bookmarks(found: Contents) -> list[dict[str, Any]]:
    return found["consumer_bookmarks"]


@pytest.fixture(scope="module")
def consumers(make_project: Callable[..., Project]) -> Consumers:
    return Consumers(make_project)


def test_consumers_that_die_after_any_write(consumers: Consumers) -> None:
    """Also where the MERGE is done and the bookmark, in the same script, is still open."""
    assert consumers.lsns[0] < consumers.lsns[1]
    assert all(consumers.at[0][name] != consumers.at[1][name] for name in consumers.at[0])
    consumers.check_faults("dies", in_scripts=True)


@pytest.mark.more
def test_each_write_of_consumers_that_fails_or_loses_its_answer(consumers: Consumers) -> None:
    consumers.check_faults("answer is lost", "fails")


@pytest.mark.more
def test_a_move_that_comes_late(consumers: Consumers) -> None:
    """Another run has opened the bookmarks again meanwhile, further on, and written nothing yet."""
    consumers.go_to(len(consumers.steps.writes) - 1)
    story = consumers.story
    story.land(1)
    story.capture.run("--exclude", *consumers.at[0])
    with fault_at("dies", 1):  # a bookmark is open, its consumer not written
        consumers.project.dbt(*consumers.command)
    opened = [r for r in bookmarks(consumers.contents()) if r["open_lsn"] == story.published()]
    consumers.steps.send(consumers.steps.writes[-1:])
    assert opened
    assert [r for r in bookmarks(consumers.contents()) if r in opened] == opened
    consumers.run()
    found = consumers.contents()
    assert {r["last_lsn"] for r in bookmarks(found)} == {story.published()}
    for name in consumers.at[0]:
        assert consumed(name, found[name]) == expected(name, story, story.published())


@pytest.mark.soak
def test_every_death_of_consumers(consumers: Consumers) -> None:
    for writes in consumers.deaths_of_each():
        consumers.go_to(0)
        consumers.steps.send(writes)
        consumers.check()
        consumers.run()
        assert consumers.check() == consumers.steps.end, f"died after {writes}"


@pytest.mark.soak
@pytest.mark.parametrize("kind", FAULTS)
def test_every_write_of_consumers(consumers: Consumers, kind: str) -> None:
    consumers.check_faults(kind, in_scripts=kind == "dies")
