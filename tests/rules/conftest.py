"""Rules that are pure Jinja: asked through dbt, answered without Spark."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from harness import Project
from shop import Shop


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """The project of all these tests: reading it costs more than asking it."""
    return Shop(tmp_path_factory.mktemp("shop"))


@pytest.fixture(scope="module")
def make_project(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Project]:
    """A factory of temporary dbt projects, as elsewhere, but without Spark."""
    return lambda **options: Project(tmp_path_factory.mktemp("project"), None, **options)
