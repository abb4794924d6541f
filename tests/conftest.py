"""Fixtures of all tests: one warm Spark session, temporary dbt projects."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from capturing import Capture
from furniture import Furniture
from harness import Project, interpret, is_shared, join_spark, share, start_spark
from pyspark.sql import SparkSession

LONGEST = 20  # seconds
WITHOUT_JAVA = ("rules", "text")
SESSIONS: list[SparkSession] = []


def pytest_sessionstart(session: pytest.Session) -> None:
    """Where workers run the tests, they share one Java: it warms up once."""
    is_worker = hasattr(session.config, "workerinput")
    needs_java = not all(Path(path).name in WITHOUT_JAVA for path in session.config.args)
    if is_worker or is_shared() or not needs_java:
        return
    if session.config.getoption("numprocesses", None):
        SESSIONS.append(start_spark(Path(tempfile.mkdtemp(prefix="dbt_cdc_"))))
        share(SESSIONS[0])


def pytest_sessionfinish() -> None:
    """The workers are done."""
    for session in SESSIONS:
        folder = Path(session.conf.get("spark.sql.warehouse.dir").removeprefix("file:"))
        session.stop()
        shutil.rmtree(folder.parent, ignore_errors=True)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session that all tests and in-process dbt runs of a worker share; it interprets plans."""
    session = join_spark() if is_shared() else start_spark(tmp_path_factory.mktemp("spark"))
    interpret(session)
    yield session
    if not is_shared():
        session.stop()


@pytest.fixture(scope="module")
def images_may_lack_values() -> Iterator[None]:
    """A module whose change tables `reference/invariants.py` does not hold for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Capture, "is_true", False)
        yield


@pytest.fixture(
    scope="module", params=[pytest.param(False, marks=pytest.mark.more), True], ids=["", "ansi"]
)
def ansi(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[None]:
    """The tests of a module with ANSI mode off, too; all run with it on, Spark's default."""
    spark.conf.set("spark.sql.ansi.enabled", request.param)
    yield
    spark.conf.set("spark.sql.ansi.enabled", True)


@pytest.fixture(scope="session")
def furniture(spark: SparkSession) -> Furniture:
    """The furnished schemas of a worker."""
    return Furniture(spark)


@pytest.fixture(scope="module")
def make_project(
    spark: SparkSession, furniture: Furniture, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Project]]:
    """A factory of temporary dbt projects: `make_project(models={...}, vars={...}, ...)`. Their
    state tables are there already, except for those with `fresh=True`."""
    made: list[Project] = []

    def make(*, fresh: bool = False, **options: Any) -> Project:
        folder = tmp_path_factory.mktemp("project")
        made.append(Project(folder, spark, furniture=None if fresh else furniture, **options))
        return made[-1]

    yield make
    for project in made:
        if project.furniture:
            project.furniture.give_back(project.schema)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Tests that take long and are not marked are named; a slow machine fails none of them."""
    for report in terminalreporter.getreports("passed"):
        is_marked = {"slow", "soak"} & set(report.keywords)
        if report.when == "call" and report.duration > LONGEST and not is_marked:
            terminalreporter.write_line(
                f"{report.nodeid} took {report.duration:.0f} s: mark it slow, or make it shorter"
            )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files with long tests first: two workers take a file each and end together."""
    long = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.path not in long, str(item.path)))
