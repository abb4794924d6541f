"""Fixtures of all tests: one warm Spark session, temporary dbt projects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from harness import Project, interpret, remember_templates, start_spark
from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session that all tests and all in-process dbt runs share; it interprets its plans."""
    session = start_spark(tmp_path_factory.mktemp("spark"))
    interpret(session)
    remember_templates()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def make_project(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Project]:
    """A factory of temporary dbt projects: `make_project(models={...}, vars={...}, ...)`."""

    def make(**options: Any) -> Project:
        return Project(tmp_path_factory.mktemp("project"), spark, **options)

    return make


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files with long tests first: two workers take a file each and end together."""
    long = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.path not in long, str(item.path)))
