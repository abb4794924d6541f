"""Random stories of a source: each ends with the truth in the log, or with a word of the fault."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from harness import Project
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from reference import stories
from reference.source import Connector, arrive, rows_by_the_log
from reference.stories import Story
from test_debezium_faults import LANDED, MODEL, SOURCE, Shop

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shop(make_project: Callable[..., Project], spark: SparkSession) -> Shop:
    models = {"log.sql": MODEL, "sources.yml": SOURCE}
    return Shop(make_project(models=models, vars={"cdc_log_model": "log"}), spark)


def cuts(rng: random.Random, length: int, batches: int) -> list[tuple[int, int]]:
    borders = sorted(rng.sample(range(8, length), batches - 1))
    return list(pairwise([0, *borders, length]))


def seeds(quick: int, all_of_them: int) -> list[object]:
    """Seeds of stories; `make test-soak` has all of them."""
    more = [pytest.param(n, marks=pytest.mark.soak) for n in range(quick, all_of_them)]
    return [*range(quick), *more]


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(1, 40))
def test_whatever_the_connector_goes_through(shop, seed):
    """Restarts, events that come again, topics that lag, batches cut anywhere: always the truth."""
    story, rng = stories.clean(seed, 20), random.Random(seed)
    shop.start()
    for low, high in cuts(rng, len(story.events), 3):
        result = shop.run(story.events[low:high])
        if "which has no key; the connector restarted behind them" in result.output:
            return  # nothing tells: said
        if not result.success and high < len(story.events):
            assert "event number" in result.output or "its END counts" in result.output
            continue  # a restart of which one topic has landed more than another: nothing is lost
        assert result.success, result.output
        records = shop.project.table("log").collect()
        for table in story.database.tables:
            rows_by_the_log(records, table)
    assert not shop.lacks(story.database)
    assert "waits" not in result.output
    assert shop.run([]).success
    assert shop.is_balanced()


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(3, 160))
def test_whatever_goes_wrong_is_said(shop, seed):
    """A lost or late event, LSNs that go back, another database: an error, or what waits."""
    fault, story = stories.faulty(seed)
    rng = random.Random(seed)
    shop.start()
    for low, high in cuts(rng, len(story.events), 2):
        result = shop.run(story.events[low:high])
        if not result.success:
            assert "CDC 22859" in result.output, (fault, result.output)
            return
    assert "waits" in result.output or not shop.lacks(story.database), fault


def has_the_truth(shop: Shop, story: Story, seed: int) -> None:
    """A story that lands in three batches, cut anywhere: no run fails, the log is the database."""
    shop.start()
    for low, high in cuts(random.Random(seed), len(story.events), 3):
        result = shop.run(story.events[low:high])
        assert result.success, result.output
    assert not shop.lacks(story.database)
    assert shop.is_balanced()


# --- many stories, each landed in one batch: the log's statement alone, and no run ----------------

# What the statement alone does not read: a run compares a later snapshot with the log.
WITHOUT_SNAPSHOTS = [way for way in stories.WAYS if way != "snapshot"]


class Statement:
    """What a log is made of where all has landed at once, as dbt has compiled it; of a run where
    what has landed decides."""

    def __init__(self, shop: Shop, is_run: bool = False) -> None:
        if not is_run:
            shop.start()
            shop.project.ok("compile", "--select", "log")
        file = shop.project.folder / "target/compiled/shop/models/log.sql"
        self.spark = shop.spark
        self.text = file.read_text(encoding="utf-8").replace(
            f"{shop.project.schema}.landed", "landed_story"
        )
        assert "landed_story" in self.text
        self.file = shop.project.folder / "target" / "landed_story.jsonl"
        self.file.touch()
        landed = self.spark.read.schema(LANDED).json(str(self.file))
        landed.createOrReplaceTempView("landed_story")
        self.files = landed._jdf.queryExecution().analyzed().relation().location()
        self.records = self.spark.sql(self.text)

    def log(self, story: Story) -> list[Any]:
        """The records of the log; raises what Spark raises. Spark has analyzed the statement once,
        which takes half of the time, and lists its file anew."""
        lines = (json.dumps(vars(event)) for event in arrive(story.events))
        self.file.write_text("\n".join(lines), encoding="utf-8")
        self.files.refresh()
        return self.records.select("*").collect()


@pytest.fixture(scope="module")
def statement(shop: Shop) -> Statement:
    return Statement(shop)


# What a story without a fault may end with: nothing tells whether such an event is a copy, or in
# which order a connector that restarted inside a transaction sent it.
MAY_BE_SAID = (
    "which has no key; the connector restarted behind them",
    "which has no key, and was sent a second later or more",
    "or the connector restarted inside the transaction and the order of its events cannot be told",
)


def wrong(
    statement: Statement, story: Story, is_clean: bool = False, may_wait: bool = False
) -> str:
    """What is wrong in silence: the log's tables are none that the source had, or lack something
    while nothing waits. Of a story without a fault also an error is wrong, and what waits, unless
    it `may_wait`."""
    try:
        records = statement.log(story)
    except (PySparkException, Py4JJavaError) as error:
        is_said = (
            any(text in str(error) for text in MAY_BE_SAID)
            if is_clean
            else "CDC 22859" in str(error)
        )
        return "" if is_said else str(error)
    behind = {record.source_database for record in records if record.source_database}
    waiting = [json.loads(record.balance).get("waiting") for record in records if record.balance]
    places = None
    for table in story.database.tables:
        try:
            found = rows_by_the_log(records, table)
        except ValueError as error:
            return f"{table}: {error}"
        truths = enumerate(story.database.truths(table))
        known = {number for number, truth in truths if truth == found}
        places = known if places is None else places & known
    if not places:
        return f"its tables are none that the source had, behind {behind}"
    is_whole = len(story.database.transactions) in places
    if is_whole or ((may_wait or not is_clean) and (any(waiting) or not records)):
        return ""
    return f"something is missing, waiting: {waiting}"


def wrong_stories(
    statement: Statement,
    seeds: range,
    kind: type[Connector],
    may_wait: Callable[[Story], bool] = lambda story: False,
) -> dict[Any, str]:
    """Stories with metadata and without, and what is wrong with each in silence. What never lands
    leaves no trace where nothing counts events."""
    found = {}
    for seed in seeds:
        metadata = seed % 2 == 0
        clean = stories.clean(seed, 3, WITHOUT_SNAPSHOTS, metadata=metadata, kind=kind)
        fault, faulty = stories.faulty(seed, WITHOUT_SNAPSHOTS, metadata=metadata, kind=kind)
        found[seed, "clean"] = wrong(statement, clean, True, may_wait(clean))
        if fault != "other" and (metadata or fault != "lost"):
            found[seed, fault] = wrong(statement, faulty)
    return {story: text for story, text in found.items() if text}


@pytest.mark.parametrize("first", range(0, 165, 55))
def test_many_stories(statement: Statement, first: int) -> None:
    """Whatever happens, clean or not: the tables that the source had, or a word of the fault."""
    found = {}
    for seed in range(first, first + 55):
        clean = stories.clean(10_000 + seed, 3, WITHOUT_SNAPSHOTS)
        fault, faulty = stories.faulty(10_000 + seed, WITHOUT_SNAPSHOTS)
        found[seed, "clean"] = wrong(statement, clean, is_clean=True)
        if fault != "other":  # of which database a log is, a run knows
            found[seed, fault] = wrong(statement, faulty)
    assert not any(found.values()), {story: text for story, text in found.items() if text}
