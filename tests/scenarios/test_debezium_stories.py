"""Random stories of a source: each ends with the truth in the log, or with a word of the fault."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise

import pytest
from harness import Project
from pyspark.sql import SparkSession
from reference import stories
from reference.source import rows_by_the_log
from test_debezium_faults import MODEL, SOURCE, Shop

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


@pytest.mark.parametrize("seed", seeds(2, 40))
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


@pytest.mark.parametrize("seed", seeds(8, 160))
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
